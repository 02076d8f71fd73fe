//! The CPU share that Lambda gives by memory, as a cgroup gives it: 1,769 MB are one CPU, and a share
//! is so many microseconds of every 20 ms. Only here does wall time mean something.

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, io};

use shared::time::Clock;

use crate::delivery::Deliveries;
use crate::measure::{MeasureError, Running, Subject};
use crate::samples::Samples;

const PERIOD_US: u32 = 20_000;
const MB_OF_ONE_CPU: u32 = 1_769;

/// Milliseconds that the first event takes when the share begins with the end of init, as in Lambda.
///
/// # Errors
/// The machine has no cgroups that we may use, or the function did not do its work.
pub async fn first_event(
    subject: &Subject<'_>,
    memory_mb: u32,
    starts: usize,
) -> Result<Samples, MeasureError> {
    let mut deliveries = Deliveries::new(&format!("{:08x}", fastrand::u32(..)));
    let mut wall = Samples::default();
    for _ in 0..starts {
        let running = Running::start(subject.bed, &subject.launch).await?;
        let group = Group::with(running.pid(), PERIOD_US * memory_mb / MB_OF_ONE_CPU)
            .map_err(|error| MeasureError::System("the CPU share (cgroup)".into(), error))?;
        let event = deliveries.next(1024, Clock::system().now()).event();
        let began = Instant::now();
        running.answer(event).await?;
        wall.push(began.elapsed().as_secs_f64() * 1e3);
        drop(running);
        drop(group);
    }
    Ok(wall)
}

/// A cgroup with one process. Dropping it removes it, once the process is gone.
struct Group(PathBuf);

impl Group {
    fn with(pid: u32, quota_us: u32) -> io::Result<Self> {
        let name = format!("webhook-inbox-bench-{pid}");
        let first = Path::new("/sys/fs/cgroup/cpu");
        let (folder, limits) = if first.is_dir() {
            let quota = ("cpu.cfs_quota_us", quota_us.to_string());
            (first.join(name), vec![("cpu.cfs_period_us", PERIOD_US.to_string()), quota])
        } else {
            let max = ("cpu.max", format!("{quota_us} {PERIOD_US}"));
            (Path::new("/sys/fs/cgroup").join(name), vec![max])
        };
        fs::create_dir(&folder)?;
        let group = Self(folder);
        for (file, value) in limits {
            fs::write(group.0.join(file), value)?;
        }
        fs::write(group.0.join("cgroup.procs"), pid.to_string())?;
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The process may still be leaving; a folder that stays is empty and costs nothing.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::yield_now();
        }
    }
}
