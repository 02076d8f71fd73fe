//! A certificate authority of our own, so that functions speak TLS to endpoints on this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;

/// The machine's own authorities. Ours goes behind them, since a function in Lambda reads as many.
const BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Signs one server certificate for `localhost`, and is trusted by who reads its file.
pub struct Authority {
    file: PathBuf,
    server: Arc<ServerConfig>,
}

/// The certificates could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificate library refused.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library refused.
    #[error("cannot serve TLS")]
    Tls(#[from] rustls::Error),
    /// The file of the authority cannot be written.
    #[error("cannot write the certificate authority's file")]
    File(#[from] io::Error),
}

impl Authority {
    /// A new authority, whose certificate goes into `folder`. Keys are P-256, as AWS's are.
    ///
    /// # Errors
    /// A certificate cannot be made, or the file cannot be written.
    pub fn new(folder: &Path) -> Result<Self, TlsError> {
        let mut root = named("webhook-inbox bench", &[])?;
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = CertifiedIssuer::self_signed(root, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let leaf = named("localhost", &["localhost"])?.signed_by(&key, &root)?;
        let file = folder.join("authority.pem");
        fs::write(&file, fs::read_to_string(BUNDLE).unwrap_or_default() + &root.pem())?;
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)?;
        Ok(Self { file, server: Arc::new(server) })
    }

    /// What `SSL_CERT_FILE` is to be.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// How an endpoint on `localhost` serves.
    pub fn server(&self) -> Arc<ServerConfig> {
        self.server.clone()
    }
}

/// OpenSSL takes two certificates of one name for one that has signed itself.
fn named(name: &str, hosts: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let hosts: Vec<String> = hosts.iter().copied().map(str::to_owned).collect();
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}
