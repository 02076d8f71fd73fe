//! The table: everything that is measured on release binaries, in one run.

use std::error::Error;
use std::io::Write as _;

use tempfile::tempdir;

use crate::bed::Bed;
use crate::binaries::Binaries;
use crate::command::RunArguments;
use crate::limits::{COLD_TIMES_FLOOR, INGRESS_MB, PROCESSOR_MB, WARM_TIMES_FLOOR};
use crate::measure::{Costs, Effort, Subject, processor, receivers};
use crate::meter::Meter;
use crate::report::Report;
use crate::samples::Samples;
use crate::units::size;
use crate::{gate, share, units};

const KIB: usize = 1024;
/// Bodies of warm events besides the 1 KiB that all programs get, and how many of them in a sample.
const LARGER: [(usize, usize); 3] = [(16 * KIB, 50), (256 * KIB, 10), (5_000_000, 2)];

/// Measures everything.
///
/// # Errors
/// A function did not do its work.
pub async fn run(arguments: &RunArguments) -> Result<Report, Box<dyn Error>> {
    let unpacked = tempdir()?;
    let binaries = arguments.binaries.find()?.copied(unpacked.path())?;
    let effort = match arguments.quick {
        true => Effort { starts: 3, blocks: 3, events: 50 },
        false => Effort { starts: 30, blocks: 40, events: 100 },
    };
    let folder = tempdir()?;
    let bed = Bed::with_tls(folder.path(), Meter::requests()).await?;
    let plain = Bed::plain(Meter::requests()).await?;
    let mut report = Report::default();

    note("ingress, warm and cold, beside what it is compared with");
    let costs = compare(arguments, &binaries, [&bed, &plain], effort).await?;
    let [ours, floor, others @ ..] = costs.as_slice() else {
        return Err("nothing measured".into());
    };
    start(&mut report, "ingress", ours);
    let cold = ours.cold.over(&floor.cold);
    report.limited("ingress: init + first event, times the floor", &cold, "×", COLD_TIMES_FLOOR);
    report.measured("ingress: warm event, 1 KiB", &ours.warm, "µs");
    let warm = ours.warm.over(&floor.warm);
    report.limited("ingress: warm event, 1 KiB, times the floor", &warm, "×", WARM_TIMES_FLOOR);
    report.measured("floor: init + first event", &floor.cold, "µs");
    report.measured("floor: warm event, 1 KiB", &floor.warm, "µs");
    for ((name, _), costs) in arguments.also.iter().zip(others) {
        other(&mut report, name, costs, ours);
    }

    let of = |name| Subject { bed: &bed, launch: bed.launch(name, binaries.path(name)) };
    for (body, events) in LARGER {
        note(&format!("ingress, {}", size(body)));
        let effort = Effort { starts: 0, events, blocks: effort.blocks / 3 };
        for costs in receivers(&[of("ingress")], body, effort).await? {
            let name = format!("ingress: warm event, {}", size(body));
            report.measured(name, &costs.warm, "µs");
        }
    }
    note("processor");
    let background = processor(&of("processor"), &of("ingress").launch, KIB, effort).await?;
    start(&mut report, "processor", &background);
    let name = "processor: warm event, 1 KiB, in batches of ten";
    report.measured(name, &background.warm, "µs");
    peak(&mut report, "ingress", &ours.memory, INGRESS_MB);
    peak(&mut report, "processor", &background.memory, PROCESSOR_MB);
    for memory_mb in &arguments.share_of {
        note(&format!("first event with the CPU share of {memory_mb} MB"));
        let wall = share::first_event(&of("ingress"), *memory_mb, effort.starts).await?;
        let name = format!("ingress: first event at {memory_mb} MB, wall");
        report.measured(name, &wall, "ms");
    }
    gate::sizes(&binaries, &mut report)?;
    note("requests and capacity units");
    units::count(&mut report).await?;
    Ok(report)
}

/// The ingress, the floor, and the others that were named.
async fn compare(
    arguments: &RunArguments,
    binaries: &Binaries,
    [bed, plain]: [&Bed; 2],
    effort: Effort,
) -> Result<Vec<Costs>, Box<dyn Error>> {
    let mut subjects = vec![
        Subject { bed, launch: bed.launch("ingress", binaries.path("ingress")) },
        Subject { bed: plain, launch: plain.launch("floor", binaries.path("floor")) },
    ];
    for (name, program) in &arguments.also {
        subjects.push(Subject { bed, launch: bed.launch(name, program) });
    }
    Ok(receivers(&subjects, KIB, effort).await?)
}

fn start(report: &mut Report, name: &str, costs: &Costs) {
    report.measured(format!("{name}: init"), &costs.init, "µs");
    report.measured(format!("{name}: first event or batch"), &costs.first, "µs");
    report.measured(format!("{name}: init + first"), &costs.cold, "µs");
}

fn other(report: &mut Report, name: &str, costs: &Costs, ours: &Costs) {
    report.measured(format!("{name}: first event"), &costs.first, "µs");
    report.measured(format!("{name}: init + first event"), &costs.cold, "µs");
    let cold = costs.cold.over(&ours.cold);
    report.measured(format!("{name}: init + first event, times the ingress"), &cold, "×");
    report.measured(format!("{name}: warm event, 1 KiB"), &costs.warm, "µs");
    let warm = costs.warm.over(&ours.warm);
    report.measured(format!("{name}: warm event, 1 KiB, times the ingress"), &warm, "×");
    report.measured(format!("{name}: peak memory"), &costs.memory.in_millions(), "MB");
}

fn peak(report: &mut Report, name: &str, memory: &Samples, limit: f64) {
    let most = memory.in_millions().max();
    report.counted(format!("{name}: peak memory"), most, "MB", limit);
}

/// What is going on goes to stderr: the table alone is on stdout.
fn note(what: &str) {
    let _ = writeln!(std::io::stderr().lock(), "bench: {what}");
}
