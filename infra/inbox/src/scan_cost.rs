//! What reading the whole table costs, said before it is done.

use shared::inbox::{Inbox, Weight};

use crate::context::Context;
use crate::exit::Failure;

/// Bytes of one read unit, eventually consistent (DynamoDB: 4 KB for half a unit).
const BYTES_PER_UNIT: u64 = 8 * 1024;
/// On demand, us-east-1, November 2024; other Regions differ a little.
const USD_PER_MILLION_UNITS: f64 = 0.125;

/// Says it; gives the number of items, for a progress bar.
pub(crate) async fn tell(context: &Context, inbox: &Inbox) -> Result<u64, Failure> {
    let weight = inbox.weight().await?;
    context.console.note(text(weight));
    Ok(weight.items)
}

fn text(Weight { items, bytes }: Weight) -> String {
    let units = bytes.div_ceil(BYTES_PER_UNIT);
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let (megabytes, usd) = (bytes as f64 / 1e6, units as f64 * USD_PER_MILLION_UNITS / 1e6);
    format!(
        "note: this reads the whole table: some {items} items, {megabytes:.1} MB, \
         {units} read units, about {usd:.4} USD"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_is_paid_by_the_bytes() {
        let said = text(Weight { items: 2_000_000, bytes: 8 * 1024 * 1_000_000 });
        assert!(said.ends_with("2000000 items, 8192.0 MB, 1000000 read units, about 0.1250 USD"));
    }
}
