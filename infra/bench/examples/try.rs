#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]
use bench::{bed::Bed, measure::*, meter::Meter};
#[tokio::main]
async fn main() {
    let dir = std::env::temp_dir();
    let bed = Bed::with_tls(&dir, Meter::requests()).await.unwrap();
    let plain = Bed::plain(Meter::requests()).await.unwrap();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let var = |n: &str, d: usize| std::env::var(n).map_or(d, |s| s.parse().unwrap());
    let effort =
        Effort { starts: var("STARTS", 10), blocks: var("BLOCKS", 8), events: var("EVENTS", 100) };
    let body = var("BODY", 1024);
    let subjects: Vec<Subject<'_>> = args
        .iter()
        .map(|a| {
            if a.contains("floor") {
                Subject { bed: &plain, launch: plain.launch("floor", a) }
            } else {
                Subject { bed: &bed, launch: bed.launch("f", a) }
            }
        })
        .collect();
    let all = if std::env::var("PROC").is_ok() {
        let mut all = vec![];
        for s in &subjects {
            all.push(
                processor(s, &bed.launch("ingress", "/tmp/h/bin/ingress"), body, effort)
                    .await
                    .unwrap(),
            );
        }
        all
    } else {
        receivers(&subjects, body, effort).await.unwrap()
    };
    for (a, c) in args.iter().zip(&all) {
        println!("{a}");
        for (n, s, f) in [
            ("init", &c.init, &all[0].init),
            ("first", &c.first, &all[0].first),
            ("cold", &c.cold, &all[0].cold),
            ("warm", &c.warm, &all[0].warm),
            ("memory", &c.memory, &all[0].memory),
        ] {
            if s.is_empty() {
                continue;
            }
            let r = s.over(f);
            println!(
                "   {n:7} {:9.0} {:9.0}..{:<9.0} max {:9.0}   ratio {:.3} ({:.3}..{:.3})",
                s.median(),
                s.quartiles().0,
                s.quartiles().1,
                s.max(),
                r.median(),
                r.quartiles().0,
                r.quartiles().1
            );
        }
    }
    println!("{:?}", bed.meter.take());
}
