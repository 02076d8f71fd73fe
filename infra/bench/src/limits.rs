//! What the figures must not be above. Ratios are of one run on one machine; no limit is a time.

/// CPU of init and first event, times the same without SDK and TLS.
pub const COLD_TIMES_FLOOR: f64 = 5.0;
/// CPU of a warm event of 1 KiB, times the same without SDK and TLS.
pub const WARM_TIMES_FLOOR: f64 = 5.0;
/// Peak memory of the ingress, in MB.
pub const INGRESS_MB: f64 = 12.0;
/// Peak memory of the processor, in MB.
pub const PROCESSOR_MB: f64 = 16.0;
/// Zip file of each function, in MB.
pub const ZIP_MB: f64 = 4.5;
/// Write units of the inbox for one event, from its delivery to its end: bytes of the body, and what
/// DynamoDB may charge.
pub const UNITS: [(usize, f64); 6] = [
    (600, 6.0),
    (1024, 6.0),
    (4 * 1024, 9.0),
    (16 * 1024, 12.0),
    (256 * 1024, 70.0),
    (5_000_000, 1_400.0),
];
