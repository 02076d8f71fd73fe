//! Whether the cost of an event depends on how many are at work, or on how many there have been.

use std::error::Error;
use std::time::Instant;

use futures_util::future::try_join_all;
use tempfile::tempdir;

use crate::bed::Bed;
use crate::binaries::Binaries;
use crate::command::ScaleArguments;
use crate::counts::Counted;
use crate::delivery::Deliveries;
use crate::measure::{MeasureError, Running, Subject};
use crate::meter::Meter;
use crate::report::Report;
use crate::samples::Samples;

/// Events that each environment takes.
const EVENTS: usize = 100;
/// Environments at once.
const ENVIRONMENTS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Measures both.
///
/// # Errors
/// A function did not do its work.
pub async fn scale(arguments: &ScaleArguments) -> Result<Report, Box<dyn Error>> {
    let binaries = arguments.binaries.find()?;
    let mut report = Report::default();
    environments(&binaries, &mut report).await?;
    rows(arguments.rows, &mut report).await?;
    Ok(report)
}

/// CPU per event, and events per second of this machine, with more and more environments.
async fn environments(binaries: &Binaries, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let folder = tempdir()?;
    let bed = Bed::with_tls(folder.path(), Meter::requests()).await?;
    let ingress = Subject { bed: &bed, launch: bed.launch("ingress", binaries.path("ingress")) };
    for count in ENVIRONMENTS {
        let mut running = vec![];
        for _ in 0..count {
            running.push(Running::start(&bed, &ingress.launch).await?);
        }
        bed.meter.take();
        let began = Instant::now();
        let spent = try_join_all(running.iter().map(work)).await?;
        let elapsed = began.elapsed().as_secs_f64();
        let mut cpu = Samples::default();
        spent.into_iter().for_each(|spent| cpu.push(spent));
        report.measured(format!("{count} environments: warm event, 1 KiB"), &cpu, "µs");
        let counts = bed.meter.take();
        #[expect(clippy::cast_precision_loss, reason = "thousands of events")]
        let events = (count * EVENTS) as f64;
        #[expect(clippy::cast_precision_loss, reason = "thousands of requests")]
        let requests = (counts.of("PutItem") + counts.of("SendMessage")) as f64;
        let name = format!("{count} environments: requests an event");
        report.counted(name, requests / events, "", 2.0);
        let mut rate = Samples::default();
        rate.push(events / elapsed);
        report.measured(
            format!("{count} environments: events a second, all of it here"),
            &rate,
            "/s",
        );
    }
    Ok(())
}

/// CPU for each event of one environment.
async fn work(running: &Running<'_>) -> Result<f64, MeasureError> {
    let mut deliveries = Deliveries::new(&format!("{:08x}", fastrand::u32(..)));
    let clock = shared::time::Clock::system();
    let before = running.cpu()?;
    for _ in 0..EVENTS {
        running.deliver(deliveries.next(1024, clock.now()).event()).await?;
    }
    #[expect(clippy::cast_precision_loss, reason = "a hundred")]
    Ok((running.cpu()? - before) / EVENTS as f64)
}

/// Requests and units of an event and of a sweep, with more and more finished rows in the table.
async fn rows(most: u32, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let mut counted = Counted::start().await?;
    let mut rows = 1_000;
    while rows <= most {
        counted.fill(rows).await?;
        // To fill takes a while, after which secrets and control items are read again, and used
        // secrets noted: the next event's requests are its own.
        counted.event(1024).await?;
        let cost = counted.event(1024).await?;
        report.counted(
            format!("{rows} rows: inbox, whole life"),
            cost.inbox_units,
            "write units",
            6.0,
        );
        #[expect(clippy::cast_precision_loss, reason = "a handful of requests")]
        let requests = (cost.stored.all() + cost.processed.all()) as f64;
        report.counted(format!("{rows} rows: requests an event"), requests, "", 4.0);
        let sweep = counted.sweep().await?;
        #[expect(clippy::cast_precision_loss, reason = "tens of requests")]
        let requests = sweep.all() as f64;
        report.counted(
            format!("{rows} rows: requests of a sweep with nothing due"),
            requests,
            "",
            30.0,
        );
        rows *= 10;
    }
    Ok(())
}
