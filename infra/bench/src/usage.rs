//! What a running process has used.

use std::io;
use std::time::Duration;

use nix::time::ClockId;
use nix::unistd::Pid;

/// CPU time of all its threads, the ended ones included.
///
/// # Errors
/// There is no such process any more.
pub fn cpu(pid: u32) -> io::Result<Duration> {
    let pid = i32::try_from(pid).map_err(io::Error::other)?;
    let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(pid))?;
    Ok(clock.now()?.into())
}

/// The most memory it ever had resident, in bytes.
///
/// # Errors
/// There is no such process any more.
pub fn peak_memory(pid: u32) -> io::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| io::Error::other("no VmHWM: the process has ended"))
}
