//! The commands that there are.

/// Every command that has a help of its own.
pub(crate) const HELPS: [&[&str]; 17] = [
    &[],
    &["show"],
    &["list"],
    &["stats"],
    &["redrive"],
    &["drop"],
    &["pause"],
    &["resume"],
    &["reconcile"],
    &["send"],
    &["verify"],
    &["secrets"],
    &["secrets", "list"],
    &["secrets", "add"],
    &["secrets", "revoke"],
    &["doctor"],
    &["completions"],
];
