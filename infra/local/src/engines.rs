//! The embedded AWS services: DynamoDB on a file or in memory, SQS and Secrets Manager in memory,
//! each an HTTP endpoint on its own loopback port, spoken to with the ordinary SDK clients.

use std::{
    fs::{File, TryLockError},
    io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
};

use dynoxide::{Database as Dynoxide, DynoxideError};
use rustack_secretsmanager_core::{
    config::SecretsManagerConfig, handler::RustackSecretsManagerHandler,
    provider::RustackSecretsManager,
};
use rustack_secretsmanager_http::service::SecretsManagerHttpService;
use rustack_sqs_core::{config::SqsConfig, handler::RustackSqsHandler, provider::RustackSqs};
use rustack_sqs_http::service::SqsHttpService;
use tokio::{
    net::TcpListener,
    sync::oneshot,
    task::{AbortHandle, JoinError},
};

use crate::serving;

/// Where the DynamoDB engine keeps its tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// In memory: gone with the [`Engines`].
    Memory,
    /// In this SQLite file, created when absent; its folder must exist. What a write acknowledged
    /// survives a kill of the process.
    File(PathBuf),
}

/// Why the engines could not be started or asked.
#[derive(Debug, thiserror::Error)]
pub enum EnginesError {
    /// The database file cannot be opened or created.
    #[error("cannot open the database {path}")]
    Open {
        /// The file, or `in memory`.
        path: String,
        /// What the engine says.
        #[source]
        source: DynoxideError,
    },
    /// The file beside the database that guards it cannot be created or locked.
    #[error("cannot lock {}", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Another process has the database open.
    #[error(
        "{} is in use by another process: stop it, or use another --data folder",
        path.display()
    )]
    InUse {
        /// The database file.
        path: PathBuf,
    },
    /// No loopback port could be had.
    #[error("cannot listen on a loopback port for {service}")]
    Bind {
        /// The service that the port was for.
        service: &'static str,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The sweep of expired items failed.
    #[error("cannot remove expired items")]
    Sweep(#[source] DynoxideError),
    /// The sweep of expired items panicked or was cancelled.
    #[error("the removal of expired items did not finish")]
    SweepAborted(#[source] JoinError),
}

/// Running engines. Dropping the value stops them and frees their ports; what SQS and Secrets
/// Manager held is gone with it.
pub struct Engines {
    dynamodb: SocketAddr,
    sqs: SocketAddr,
    secrets: SocketAddr,
    database: Dynoxide,
    tasks: [AbortHandle; 2],
    /// Ends the DynamoDB engine by being dropped: its connections are tasks of its own, which an
    /// abort of the accept loop would leave running.
    _dynamodb_stop: oneshot::Sender<()>,
    /// Held for as long as the database is open.
    _lock: Option<File>,
}

impl Engines {
    /// Starts the three engines on loopback ports that the system chooses, as tasks of the
    /// current Tokio runtime.
    ///
    /// # Errors
    /// The database cannot be opened, is in use by another process, or no port can be had.
    pub async fn start(db: Database) -> Result<Self, EnginesError> {
        let (database, lock) = open(&db)?;
        let (dynamodb_listener, dynamodb) = listen("DynamoDB").await?;
        let (sqs_listener, sqs) = listen("SQS").await?;
        let (secrets_listener, secrets) = listen("Secrets Manager").await?;

        let stop = serve_dynamodb(dynamodb_listener, database.clone());
        let sqs_service = sqs_service(sqs);
        let secrets_service = secrets_service();
        let tasks = [
            tokio::spawn(serving::accept(sqs_listener, move |_| sqs_service.clone()))
                .abort_handle(),
            tokio::spawn(serving::accept(secrets_listener, move |_| secrets_service.clone()))
                .abort_handle(),
        ];
        Ok(Self { dynamodb, sqs, secrets, database, tasks, _dynamodb_stop: stop, _lock: lock })
    }

    /// The endpoint of DynamoDB, without a trailing slash.
    #[must_use]
    pub fn dynamodb_url(&self) -> String {
        url(self.dynamodb)
    }

    /// The endpoint of SQS, without a trailing slash. Queue URLs begin with it.
    #[must_use]
    pub fn sqs_url(&self) -> String {
        url(self.sqs)
    }

    /// The endpoint of Secrets Manager, without a trailing slash.
    #[must_use]
    pub fn secrets_url(&self) -> String {
        url(self.secrets)
    }

    /// Removes the items whose TTL has passed and returns how many they were. The engine never
    /// does it by itself; AWS does it within a few days.
    ///
    /// # Errors
    /// The database refuses, or the sweep did not run to its end.
    pub async fn sweep_ttl(&self) -> Result<usize, EnginesError> {
        let database = self.database.clone();
        tokio::task::spawn_blocking(move || database.sweep_ttl())
            .await
            .map_err(EnginesError::SweepAborted)?
            .map_err(EnginesError::Sweep)
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

fn open(db: &Database) -> Result<(Dynoxide, Option<File>), EnginesError> {
    match db {
        Database::Memory => Dynoxide::memory()
            .map(|database| (database, None))
            .map_err(|source| EnginesError::Open { path: "in memory".to_owned(), source }),
        Database::File(path) => {
            // The engine itself would let a second process in, whose idempotency tokens and queue
            // would know nothing of the first.
            let lock = lock(path)?;
            let name = path.to_string_lossy();
            Dynoxide::new(&name)
                .map(|database| (database, Some(lock)))
                .map_err(|source| EnginesError::Open { path: name.into_owned(), source })
        }
    }
}

fn lock(database: &Path) -> Result<File, EnginesError> {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    let path = PathBuf::from(path);
    let file = match File::create(&path) {
        Ok(file) => file,
        Err(source) => return Err(EnginesError::Lock { path, source }),
    };
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(EnginesError::InUse { path: database.to_owned() }),
        Err(TryLockError::Error(source)) => Err(EnginesError::Lock { path, source }),
    }
}

async fn listen(service: &'static str) -> Result<(TcpListener, SocketAddr), EnginesError> {
    let bind = async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    bind.await.map_err(|source| EnginesError::Bind { service, source })
}

fn serve_dynamodb(listener: TcpListener, database: Dynoxide) -> oneshot::Sender<()> {
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(async move {
        // An error of the receiver means that the sender was dropped, which is the signal.
        let stopped = async { drop(stopped.await) };
        if let Err(error) = dynoxide::server::serve_with_shutdown(listener, database, stopped).await
        {
            tracing::error!(error, "the DynamoDB engine ended");
        }
    });
    stop
}

fn sqs_service(address: SocketAddr) -> SqsHttpService<RustackSqsHandler> {
    // The engine writes host and port into the queue URLs it hands out.
    let config =
        SqsConfig { host: address.ip().to_string(), port: address.port(), ..SqsConfig::default() };
    let handler = RustackSqsHandler::new(Arc::new(RustackSqs::new(config)));
    SqsHttpService::new(Arc::new(handler), Default::default())
}

fn secrets_service() -> SecretsManagerHttpService<RustackSecretsManagerHandler> {
    let provider = RustackSecretsManager::new(SecretsManagerConfig::default());
    let handler = RustackSecretsManagerHandler::new(Arc::new(provider));
    SecretsManagerHttpService::new(Arc::new(handler), Default::default())
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}")
}

#[cfg(test)]
mod tests;
