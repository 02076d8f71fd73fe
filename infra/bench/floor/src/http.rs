//! HTTP/1.1 with a length on one connection: enough for endpoints that we started ourselves.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

/// A connection that is kept.
pub(crate) struct Connection {
    host: String,
    stream: BufReader<TcpStream>,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

impl Connection {
    /// To `host:port`.
    pub(crate) fn open(host: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        Ok(Self { host: host.to_owned(), stream: BufReader::new(stream) })
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// One request and its answer; `headers` are whole lines.
    pub(crate) fn exchange(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> io::Result<Answer> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n{headers}\r\n",
            self.host,
            body.len()
        );
        self.stream.get_mut().write_all(&[head.as_bytes(), body].concat())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("no HTTP answer"))?;
        let mut headers = vec![];
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let mut answer = Answer { status, headers, body: vec![] };
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        answer.body.resize(length.unwrap_or(0), 0);
        self.stream.read_exact(&mut answer.body)?;
        Ok(answer)
    }
}
