//! What Lambda is to one execution environment: it starts the function's binary, hands it one event
//! at a time over the Runtime API, and takes the answers.
//!
//! Several environments of a function are several [`Environment`]s. Unlike Lambda, nothing is frozen
//! between invocations, and none is started again when it dies: that is for the caller to decide.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use bytes::Bytes;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinSet;

/// Takes the lines of a function's stdout.
pub type Lines = Arc<dyn Fn(&str) + Send + Sync>;

/// How an environment is started.
#[derive(Clone)]
pub struct Launch {
    /// The function's binary and its arguments.
    pub command: Vec<PathBuf>,
    /// `AWS_LAMBDA_FUNCTION_NAME`.
    pub function: String,
    /// `AWS_LAMBDA_FUNCTION_MEMORY_SIZE`, which nothing here enforces.
    pub memory_mb: u32,
    /// What the process gets besides Lambda's own variables, which these override. It inherits none.
    pub variables: Vec<(String, String)>,
    /// Takes its stdout; without it nobody does.
    pub lines: Option<Lines>,
}

impl Launch {
    /// A function without variables of its own.
    pub fn new(function: &str, binary: impl Into<PathBuf>) -> Self {
        Self {
            command: vec![binary.into()],
            function: function.to_owned(),
            memory_mb: 256,
            variables: vec![],
            lines: None,
        }
    }

    /// One more variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }
}

/// What a function said to an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its response.
    Response(Bytes),
    /// The invocation failed; the error's JSON.
    Error(Bytes),
}

/// How a function's process ended.
#[derive(Clone, Debug)]
pub struct End {
    /// What the system says.
    pub status: ExitStatus,
    /// What the function said to `init/error`, if it came that far.
    pub init_error: Option<String>,
}

impl std::error::Error for End {}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the function's process ended ({})", self.status)?;
        self.init_error.as_ref().map_or(Ok(()), |error| write!(f, ": {error}"))
    }
}

/// Why an event has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InvokeError {
    /// The process ended first. Whether it did anything is not known.
    #[error(transparent)]
    Died(#[from] End),
    /// No answer in time; the process was killed, as Lambda does.
    #[error("the function gave no answer in {0:?} and was killed")]
    TimedOut(Duration),
}

/// One execution environment. Dropping it kills its process.
pub struct Environment {
    pid: u32,
    shared: Arc<Shared>,
    invocations: mpsc::UnboundedSender<Invocation>,
    ended: watch::Receiver<Option<End>>,
    _tasks: JoinSet<()>,
}

struct Invocation {
    event: Bytes,
    deadline_ms: u128,
    answer: oneshot::Sender<Answer>,
}

/// What the endpoint and the environment share.
struct Shared {
    arn: String,
    queue: tokio::sync::Mutex<mpsc::UnboundedReceiver<Invocation>>,
    running: Mutex<HashMap<String, oneshot::Sender<Answer>>>,
    turns: watch::Sender<Turns>,
    init_error: Mutex<Option<String>>,
    kill: Notify,
}

/// How often the function asked for an event, and how often it got one.
#[derive(Clone, Copy, Default)]
struct Turns {
    asked: u64,
    given: u64,
}

impl Environment {
    /// Starts the process and its Runtime API.
    ///
    /// # Errors
    /// No loopback port, or the binary cannot be started.
    pub async fn start(launch: &Launch) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let mut child = command(launch, listener.local_addr()?).spawn()?;
        let pid = child.id().ok_or_else(|| io::Error::other("the process ended at once"))?;
        let (invocations, queue) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            arn: format!("arn:aws:lambda:us-east-1:123456789012:function:{}", launch.function),
            queue: tokio::sync::Mutex::new(queue),
            running: Mutex::default(),
            turns: watch::Sender::default(),
            init_error: Mutex::default(),
            kill: Notify::new(),
        });
        let (end, ended) = watch::channel(None);
        let mut tasks = JoinSet::new();
        if let (Some(stdout), Some(lines)) = (child.stdout.take(), launch.lines.clone()) {
            tasks.spawn(read(stdout, lines));
        }
        tasks.spawn(serve(listener, shared.clone()));
        tasks.spawn(watch_over(child, shared.clone(), end));
        Ok(Self { pid, shared, invocations, ended, _tasks: tasks })
    }

    /// The process's id, for the system's accounts.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until the function has nothing to do: its init, or its last invocation, is over.
    ///
    /// # Errors
    /// The process ended instead.
    pub async fn idle(&self) -> Result<(), End> {
        let mut turns = self.shared.turns.subscribe();
        tokio::select! {
            _ = turns.wait_for(|turns| turns.asked > turns.given) => Ok(()),
            end = self.end() => Err(end),
        }
    }

    /// Hands it an event, and waits for the answer. A second event waits until the function asks for
    /// it.
    ///
    /// # Errors
    /// The process ended, or gave no answer in `time`.
    pub async fn invoke(
        &self,
        event: impl Into<Bytes>,
        time: Duration,
    ) -> Result<Answer, InvokeError> {
        let (answer, mut answered) = oneshot::channel();
        let deadline_ms = unix_millis() + time.as_millis();
        // A closed queue is an ended process, which is waited for below.
        let _ = self.invocations.send(Invocation { event: event.into(), deadline_ms, answer });
        tokio::select! {
            biased;
            Ok(answer) = &mut answered => Ok(answer),
            end = self.end() => Err(end.into()),
            () = tokio::time::sleep(time) => {
                self.kill().await;
                Err(InvokeError::TimedOut(time))
            }
        }
    }

    /// Kills the process (`SIGKILL`) and waits until it is gone.
    pub async fn kill(&self) -> End {
        self.shared.kill.notify_one();
        self.end().await
    }

    /// Waits until the process ends by itself.
    #[expect(clippy::expect_used, reason = "the sender lives in a task that this value owns")]
    pub async fn end(&self) -> End {
        let mut ended = self.ended.clone();
        let end = ended.wait_for(Option::is_some).await.expect("the task says how it ended");
        end.clone().expect("some")
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Environment({}, pid {})", self.shared.arn, self.pid)
    }
}

fn command(launch: &Launch, api: SocketAddr) -> Command {
    let (binary, arguments) =
        launch.command.split_first().map_or((PathBuf::new(), &[][..]), |(b, a)| (b.clone(), a));
    let mut command = Command::new(binary);
    command
        .args(arguments)
        .env_clear()
        .env("AWS_LAMBDA_RUNTIME_API", api.to_string())
        .env("AWS_LAMBDA_FUNCTION_NAME", &launch.function)
        .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", launch.memory_mb.to_string())
        .env("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand")
        .env("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{}", launch.function))
        .env("AWS_LAMBDA_LOG_STREAM_NAME", "local")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_DEFAULT_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "local")
        .env("AWS_SECRET_ACCESS_KEY", "local")
        .env("AWS_SESSION_TOKEN", "local")
        .env("TZ", ":UTC")
        .envs(launch.variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(if launch.lines.is_some() { Stdio::piped() } else { Stdio::null() })
        .kill_on_drop(true);
    command
}

async fn read(stdout: ChildStdout, lines: Lines) {
    let mut stdout = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = stdout.next_line().await {
        lines(&line);
    }
}

/// Owns the process: waits for its end, or brings it about.
async fn watch_over(mut child: Child, shared: Arc<Shared>, end: watch::Sender<Option<End>>) {
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            // An error says that it has ended already.
            () = shared.kill.notified() => drop(child.start_kill()),
        }
    };
    // Waiting for a child of one's own fails only if somebody else has waited for it.
    let status = status.unwrap_or_default();
    let init_error = lock(&shared.init_error).take();
    end.send_replace(Some(End { status, init_error }));
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    const INVOCATION: &str = "/2018-06-01/runtime/invocation";
    let endpoint = Router::new()
        .route(&format!("{INVOCATION}/next"), get(next))
        .route(&format!("{INVOCATION}/{{id}}/response"), post(response))
        .route(&format!("{INVOCATION}/{{id}}/error"), post(error))
        .route("/2018-06-01/runtime/init/error", post(init_error))
        .layer(DefaultBodyLimit::disable())
        .with_state(shared);
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    // Serving ends only with this task.
    let _ = axum::serve(listener, endpoint).await;
}

async fn next(State(shared): State<Arc<Shared>>) -> Response {
    shared.turns.send_modify(|turns| turns.asked += 1);
    let Some(invocation) = shared.queue.lock().await.recv().await else {
        // The environment is gone, and its process is about to be.
        return std::future::pending().await;
    };
    let Invocation { event, deadline_ms, answer } = invocation;
    let mut given = 0;
    shared.turns.send_modify(|turns| {
        turns.given += 1;
        given = turns.given;
    });
    let id = format!("00000000-0000-4000-8000-{given:012x}");
    lock(&shared.running).insert(id.clone(), answer);
    let headers = [
        ("lambda-runtime-trace-id", format!("Root=1-00000000-{given:024x};Sampled=0")),
        ("lambda-runtime-aws-request-id", id),
        ("lambda-runtime-deadline-ms", deadline_ms.to_string()),
        ("lambda-runtime-invoked-function-arn", shared.arn.clone()),
        ("content-type", "application/json".to_owned()),
    ];
    (headers, event).into_response()
}

async fn response(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    body: Bytes,
) -> StatusCode {
    shared.answer(&id, Answer::Response(body))
}

async fn error(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    body: Bytes,
) -> StatusCode {
    shared.answer(&id, Answer::Error(body))
}

async fn init_error(State(shared): State<Arc<Shared>>, body: String) -> StatusCode {
    *lock(&shared.init_error) = Some(body);
    StatusCode::ACCEPTED
}

impl Shared {
    fn answer(&self, id: &str, answer: Answer) -> StatusCode {
        match lock(&self.running).remove(id) {
            // Nobody may be waiting any more.
            Some(waiting) => drop(waiting.send(answer)),
            None => return StatusCode::BAD_REQUEST,
        }
        StatusCode::ACCEPTED
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "Lambda's deadline is a moment of the real clock")]
fn unix_millis() -> u128 {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_millis()
}
