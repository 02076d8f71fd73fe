use super::*;

fn line(n: usize) -> Effects {
    (0..n).fold(Effects::on("business"), |effects, i| {
        effects.put_if_absent("a", &i.to_string(), [("x", "y".into())])
    })
}

#[test]
fn what_dynamodb_would_always_refuse_is_refused_here() {
    assert_eq!(line(99).check("inbox"), Ok(()));
    assert_eq!(line(100).check("inbox"), Err(EffectsError::TooMany(100)));
    assert_eq!(line(1).check("business"), Err(EffectsError::OnInbox("business".into())));
    let twice = line(1).update(Change::of("a", "0").add("n", 1));
    assert_eq!(twice.check("inbox"), Err(EffectsError::SameItem("business".into())));
    assert_eq!(line(1).delete("a", "1").delete("b", "1").check("inbox"), Ok(()));
    let large = "x".repeat(380_000);
    let effects = (0..12).fold(Effects::on("business"), |effects, i| {
        effects.put("a", &i.to_string(), [("x", large.as_str().into())])
    });
    assert!(matches!(effects.check("inbox"), Err(EffectsError::TooLarge(_))));
}

#[test]
fn a_change_is_one_expression_with_names_and_values_kept_apart() {
    let change = Change::of("a", "b").set("status", "up").add("n", 2).remove("old").add("m", 3);
    let update = change.action("business").unwrap();
    let expression = update.update_expression();
    assert_eq!(expression, "SET #n0 = :v0 ADD #n1 :v1, #n3 :v2 REMOVE #n2");
    assert_eq!(update.expression_attribute_names().unwrap()["#n2"], "old");
}

#[test]
fn the_stale_guard_wants_a_time_that_is_not_far_ahead() {
    let now = Timestamp::from_secs(1_000_000);
    let guard = |at| Change::of("a", "b").unless_stale(at, 0, now).map(|change| change.on_refused);
    assert_eq!(guard(Some(now.plus(FUTURE_MAX))), Ok(OnRefused::Stale));
    let ahead = now.plus(FUTURE_MAX + std::time::Duration::from_millis(1));
    assert_eq!(guard(Some(ahead)), Err(GuardError::InTheFuture));
    assert_eq!(guard(None), Err(GuardError::NoTime));
}
