//! Takes the worked examples out of the guides, so that tests run what the guides show.
//!
//! A fenced block with two words behind the fence, as in "```toml sources", is written to
//! `OUT_DIR/sources.toml`; blocks with the same two words become one file. A block that is missing,
//! or one that nobody asked for, does not build.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

/// Each guide and its blocks.
const GUIDES: [(&str, &[&str]); 3] = [
    (
        "docs/add-a-producer.md",
        &[
            "toml sources",
            "toml preset",
            "toml mistakes",
            "text mistakes",
            "json delivery",
            "sh deliver",
        ],
    ),
    ("docs/add-a-handler.md", &["rust handler", "rust register", "json effects", "text failures"]),
    (
        "README.md",
        &["sh try", "text heard", "sh scan", "json scanned", "rust refund", "rust register-refund"],
    ),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = env::var("OUT_DIR")?;
    let mut mistakes = vec![];
    for (guide, expected) in GUIDES {
        // A build script runs in its package's folder.
        let path = Path::new("..").join(guide);
        println!("cargo::rerun-if-changed={}", path.display());
        let text = fs::read_to_string(path).map_err(|error| format!("{guide}: {error}"))?;
        let mut blocks = blocks(&text);
        for block in expected {
            let Some(code) = blocks.remove(*block) else {
                mistakes.push(format!("{guide} has no block ```{block}"));
                continue;
            };
            let (language, name) = block.split_once(' ').unwrap_or((block, ""));
            let (extension, code) = match language {
                "rust" => ("rs", rust(name, &code)),
                _ => (language, code),
            };
            fs::write(Path::new(&out).join(format!("{name}.{extension}")), code)?;
        }
        let unknown = blocks.keys().map(|block| format!("{guide}: no test asks for ```{block}"));
        mistakes.extend(unknown);
    }
    for mistake in &mistakes {
        println!("cargo::error={mistake} (tests/build.rs lists the blocks)");
    }
    Ok(())
}

/// The blocks with two words behind the fence, by these words.
fn blocks(text: &str) -> BTreeMap<String, String> {
    let mut blocks = BTreeMap::<String, String>::new();
    let mut open: Option<&str> = None;
    for line in text.lines() {
        match (open, line.strip_prefix("```")) {
            (None, fence) => open = fence.map(str::trim),
            (Some(_), Some(_)) => open = None,
            (Some(words), None) if words.contains(' ') => {
                let code = blocks.entry(words.to_owned()).or_default();
                code.push_str(line);
                code.push('\n');
            }
            (Some(_), None) => {}
        }
    }
    blocks
}

/// As the tests can include it: there, the processor is another crate, a file that is included has
/// no head of its own, and the registrations follow those of the tree.
fn rust(name: &str, code: &str) -> String {
    let code = code.replace("crate::", "processor::").replace("//!", "//");
    if name.starts_with("register") { format!("processor::handlers::all()\n{code}") } else { code }
}
