//! What CI checks of release binaries: their size, and the memory they take. No time.

use std::error::Error;

use tempfile::tempdir;

use crate::bed::Bed;
use crate::binaries::{Binaries, FUNCTIONS};
use crate::command::BinaryArguments;
use crate::limits::{INGRESS_MB, PROCESSOR_MB, ZIP_MB};
use crate::measure::{Effort, Subject, processor, receivers};
use crate::meter::Meter;
use crate::report::Report;

const EFFORT: Effort = Effort { starts: 3, blocks: 1, events: 200 };
const MB: f64 = 1e6;

/// Measures sizes and memory.
///
/// # Errors
/// A function did not do its work.
pub async fn gate(arguments: &BinaryArguments) -> Result<Report, Box<dyn Error>> {
    let binaries = arguments.find()?;
    let mut report = Report::default();
    sizes(&binaries, &mut report)?;
    let folder = tempdir()?;
    let bed = Bed::with_tls(folder.path(), Meter::requests()).await?;
    let of = |name| Subject { bed: &bed, launch: bed.launch(name, binaries.path(name)) };
    let (ingress, background) = (of("ingress"), of("processor"));
    let costs = processor(&background, &ingress.launch, 1024, EFFORT).await?;
    let peak = costs.memory.max() / MB;
    report.counted("processor: peak memory", peak, "MB", PROCESSOR_MB);
    for costs in receivers(&[ingress], 1024, EFFORT).await? {
        report.counted("ingress: peak memory", costs.memory.max() / MB, "MB", INGRESS_MB);
    }
    Ok(report)
}

/// Adds the size of each function's zip file.
#[expect(clippy::cast_precision_loss, reason = "megabytes")]
pub(crate) fn sizes(binaries: &Binaries, report: &mut Report) -> Result<(), Box<dyn Error>> {
    for name in FUNCTIONS {
        let (file, zip) = binaries.sizes(name)?;
        let what = format!("{name}: zip of {:.2} MB", file as f64 / MB);
        report.counted(what, zip as f64 / MB, "MB", ZIP_MB);
    }
    Ok(())
}
