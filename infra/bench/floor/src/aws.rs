//! Calls to AWS's JSON services, signed by hand (Signature Version 4).

use std::fmt::Write as _;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::http::Connection;
use crate::variable;

const SIGNED: &str = "content-type;host;x-amz-date;x-amz-security-token;x-amz-target";

/// One service.
pub(crate) struct Aws {
    service: &'static str,
    connection: Connection,
    region: String,
    access_key: String,
    secret_key: String,
    token: String,
}

impl Aws {
    /// Connects to the endpoint that a variable names.
    pub(crate) fn connect(service: &'static str, endpoint: &str) -> io::Result<Self> {
        let url = variable(endpoint)?;
        let host = url.trim_start_matches("http://").trim_end_matches('/');
        Ok(Self {
            service,
            connection: Connection::open(host)?,
            region: variable("AWS_REGION")?,
            access_key: variable("AWS_ACCESS_KEY_ID")?,
            secret_key: variable("AWS_SECRET_ACCESS_KEY")?,
            token: variable("AWS_SESSION_TOKEN")?,
        })
    }

    /// Calls an operation; the status and the body of the answer.
    pub(crate) fn call(&mut self, target: &str, body: &str) -> io::Result<(u16, Vec<u8>)> {
        let (date, time) = now();
        let kind = "application/x-amz-json-1.0";
        let headers = format!(
            "content-type:{kind}\nhost:{}\nx-amz-date:{time}\nx-amz-security-token:{}\nx-amz-target:{target}\n",
            self.connection.host(),
            self.token
        );
        let digest = hex(&Sha256::digest(body));
        let request = format!("POST\n/\n\n{headers}\n{SIGNED}\n{digest}");
        let scope = format!("{date}/{}/{}/aws4_request", self.region, self.service);
        let to_sign =
            format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(request)));
        let key = [date.as_str(), &self.region, self.service, "aws4_request"]
            .iter()
            .fold(format!("AWS4{}", self.secret_key).into_bytes(), |key, part| hmac(&key, part));
        let headers = format!(
            "content-type: {kind}\r\nx-amz-date: {time}\r\nx-amz-security-token: {}\r\n\
             x-amz-target: {target}\r\nauthorization: AWS4-HMAC-SHA256 \
             Credential={}/{scope}, SignedHeaders={SIGNED}, Signature={}\r\n",
            self.token,
            self.access_key,
            hex(&hmac(&key, &to_sign))
        );
        let answer = self.connection.exchange("POST", "/", &headers, body.as_bytes())?;
        Ok((answer.status, answer.body))
    }
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length (RFC 2104)")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// `20261130` and `20261130T120000Z`.
#[expect(clippy::disallowed_methods, reason = "a signature carries the time of the real clock")]
fn now() -> (String, String) {
    let secs = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, second) = (secs / 86_400, secs % 86_400);
    // Days to a civil date, with years that begin in March.
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let date = format!("{year:04}{month:02}{day:02}");
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let time = format!("{date}T{hour:02}{minute:02}{second:02}Z");
    (date, time)
}
