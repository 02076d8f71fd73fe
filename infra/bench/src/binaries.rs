//! The release binaries of the functions: where they are, and how large.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::read::DeflateEncoder;

/// The functions that are deployed.
pub const FUNCTIONS: [&str; 3] = ["ingress", "processor", "sweeper"];
/// What a zip file with one entry has besides its compressed bytes, give or take a few.
const ZIP_FRAME: u64 = 200;

/// Binaries could not be had.
#[derive(Debug, thiserror::Error)]
pub enum BinariesError {
    /// `cargo` cannot be run.
    #[error("cargo cannot be run")]
    Cargo(#[source] io::Error),
    /// It ran, and failed.
    #[error("{0} does not build")]
    Build(String),
    /// A binary is not where it should be.
    #[error("no binary at {}", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

/// A folder of release binaries.
#[derive(Clone, Debug)]
pub struct Binaries(PathBuf);

impl Binaries {
    /// Those in this folder.
    pub fn found(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Builds the functions as they are deployed, and what they are compared with.
    ///
    /// # Errors
    /// It does not build.
    pub fn built() -> Result<Self, BinariesError> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        // One after the other: the features that one package asks for are not another's.
        for packages in [&FUNCTIONS[..], &["floor"]] {
            let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
            cargo.args(["build", "--release", "--locked"]).current_dir(&workspace);
            // The table alone goes to stdout.
            cargo.stdout(Stdio::null());
            for package in packages {
                cargo.args(["-p", package]);
            }
            let status = cargo.status().map_err(BinariesError::Cargo)?;
            if !status.success() {
                return Err(BinariesError::Build(packages.join(", ")));
            }
        }
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        Ok(Self(target.unwrap_or_else(|| workspace.join("target")).join("release")))
    }

    /// Where one is: as cargo leaves it, or as cargo-lambda does, in a folder of its own.
    pub fn path(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        if path.is_dir() { path.join("bootstrap") } else { path }
    }

    /// Copies of all of them in this folder, written in one go, as Lambda unpacks what was uploaded. (What
    /// a linker has written starts a tenth slower: its pages lie in the cache one by one.)
    ///
    /// # Errors
    /// One is not there, or the folder cannot be written.
    pub fn copied(&self, folder: &Path) -> Result<Self, BinariesError> {
        for name in FUNCTIONS.into_iter().chain(["floor"]) {
            let path = self.path(name);
            std::fs::copy(&path, folder.join(name))
                .map_err(|source| BinariesError::Missing { path, source })?;
        }
        Ok(Self(folder.to_owned()))
    }

    /// Its bytes, and about those of the zip file that is uploaded.
    ///
    /// # Errors
    /// It is not there.
    pub fn sizes(&self, name: &str) -> Result<(u64, u64), BinariesError> {
        let path = self.path(name);
        let sizes = || {
            let bytes = std::fs::read(&path)?;
            let mut zipped = vec![];
            DeflateEncoder::new(&bytes[..], Compression::default()).read_to_end(&mut zipped)?;
            Ok((bytes.len() as u64, zipped.len() as u64 + ZIP_FRAME))
        };
        sizes().map_err(|source| BinariesError::Missing { path: path.clone(), source })
    }
}
