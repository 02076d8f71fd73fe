//! Requests and capacity units of one event, by the size of its body.

use std::error::Error;

use crate::counts::Counted;
use crate::limits::UNITS;
use crate::report::Report;

/// Counts them, with the functions in this process.
///
/// # Errors
/// A function did not do its work.
pub async fn units() -> Result<Report, Box<dyn Error>> {
    let mut report = Report::default();
    count(&mut report).await?;
    Ok(report)
}

/// Adds them to a report.
#[expect(clippy::cast_precision_loss, reason = "a handful of requests")]
pub(crate) async fn count(report: &mut Report) -> Result<(), Box<dyn Error>> {
    let mut counted = Counted::start().await?;
    for (bytes, limit) in UNITS {
        let name = size(bytes);
        let cost = counted.event(bytes).await?;
        report.counted(
            format!("{name}: inbox, whole life"),
            cost.inbox_units,
            "write units",
            limit,
        );
        // A body of its own takes a look for a duplicate, its items, and a read.
        let own = if cost.stored.of("BatchWriteItem") > 0 { 1.0 } else { 0.0 };
        let stored = cost.stored.all() as f64;
        report.counted(format!("{name}: requests to store it"), stored, "", 2.0 + 2.0 * own);
        let processed = cost.processed.all() as f64;
        report.counted(format!("{name}: requests to process it"), processed, "", 2.0 + own);
    }
    let delivery = counted.delivery(1024);
    counted.deliver(&delivery).await?;
    let (_, duplicate) = counted.deliver(&delivery).await?;
    report.counted("a duplicate: requests", duplicate.all() as f64, "", 1.0);
    let tampered = counted.delivery(1024).tampered();
    let (_, forged) = counted.deliver(&tampered).await?;
    let others = forged.all() - forged.of("GetSecretValue");
    report.counted("a bad signature: requests to DynamoDB and SQS", others as f64, "", 0.0);
    Ok(())
}

/// `600 B`, `16 KiB`, `5 MB`.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1_000_000) => format!("{} MB", bytes / 1_000_000),
        _ if bytes.is_multiple_of(1024) => format!("{} KiB", bytes / 1024),
        _ => format!("{bytes} B"),
    }
}
