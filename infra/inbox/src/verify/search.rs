//! Looks for what makes a signature right: the likelier guesses first, one mistake before two.

use hmac::{Hmac, KeyInit, Mac as _};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use shared::signature::Scheme;

use super::bodies::Bodies;
use super::candidate::Candidate;
use super::capture::Capture;
use super::claims::{self, Claim};
use super::contents::{self, Content};
use super::keys::{self, Known};
use super::mistake;
use super::mistake::Mistake;

/// All mistakes of one explanation together may cost this much.
const COST_MAX: u8 = 4;
/// What is hashed before the search gives up: some seconds.
const BYTES_MAX: usize = 1 << 30;
/// What one guess costs besides its bytes.
const GUESS_BYTES: usize = 512;
/// In larger bodies than this other functions are tried only where nothing else is wrong.
const SMALL: usize = 64 * 1024;

/// What the search came to.
#[derive(Debug)]
pub(super) struct Search {
    /// The mistakes that together make the signature right; none if it is as it should be.
    pub(super) found: Option<Vec<Mistake>>,
    /// How many guesses were made.
    pub(super) guesses: usize,
    /// It gave up before it had tried everything.
    pub(super) gave_up: bool,
    /// What may be a digest was found in the headers.
    pub(super) any_digest: bool,
}

/// Tries keys, contents and bodies against every digest in the headers.
pub(super) fn search(scheme: &Scheme, capture: &Capture, known: &[Known]) -> Search {
    let claims = claims::digests(scheme, capture);
    let mut search =
        Search { found: None, guesses: 0, gave_up: false, any_digest: !claims.is_empty() };
    if claims.is_empty() {
        return search;
    }
    let mut guess = Guess {
        claims,
        keys: keys::candidates(known, scheme.secret),
        contents: contents::candidates(scheme, capture),
        bodies: Bodies::of(&capture.body),
    };
    let mut left = BYTES_MAX;
    for cost in 0..=COST_MAX {
        guess.bodies.make(cost);
        search.found = guess.of_cost(cost, &mut left, &mut search.guesses);
        search.gave_up = left == 0;
        if search.found.is_some() || search.gave_up {
            break;
        }
    }
    search
}

struct Guess<'c> {
    claims: Vec<Claim>,
    keys: Vec<Candidate<Vec<u8>>>,
    contents: Vec<Candidate<Content>>,
    bodies: Bodies<'c>,
}

impl Guess<'_> {
    /// Every guess whose parts together cost exactly this.
    fn of_cost(&self, cost: u8, left: &mut usize, guesses: &mut usize) -> Option<Vec<Mistake>> {
        for key in self.keys.iter().filter(|key| key.cost <= cost) {
            let keyed = Keyed::new(&key.value);
            for content in self.contents.iter().filter(|c| key.cost + c.cost <= cost) {
                let rest = cost - key.cost - content.cost;
                let bodies = self.bodies.of_cost(rest).iter();
                // What holds no body is one guess, whatever the body.
                let many =
                    if content.value.has_body() { usize::MAX } else { usize::from(rest == 0) };
                for body in bodies.take(many) {
                    *guesses += 1;
                    let functions = cost == 0 || (cost == 1 && body.value.len() < SMALL);
                    *left = left.saturating_sub(body.value.len() + GUESS_BYTES);
                    let found = self.claimed(&keyed, content, body, functions);
                    if let Some((claim, function)) = found {
                        let mut mistakes = claim.mistakes.clone();
                        mistakes.extend(function.map(Mistake::Function));
                        mistakes.extend_from_slice(&key.mistakes);
                        mistakes.extend_from_slice(&content.mistakes);
                        mistakes.extend_from_slice(&body.mistakes);
                        mistake::sort(&mut mistakes);
                        return Some(mistakes);
                    }
                    if *left == 0 {
                        return None;
                    }
                }
            }
        }
        None
    }

    /// The claim that this guess makes right, and the function if it is another than ours.
    fn claimed(
        &self,
        keyed: &Keyed<'_>,
        content: &Candidate<Content>,
        body: &Candidate<Vec<u8>>,
        functions: bool,
    ) -> Option<(&Claim, Option<&'static str>)> {
        let is = |digest: &[u8]| self.claims.iter().find(|claim| claim.value.is(digest));
        let feed = |to: &mut dyn FnMut(&[u8])| content.value.feed(&body.value, to);
        let mut mac = keyed.sha256.clone();
        feed(&mut |bytes| mac.update(bytes));
        if let Some(claim) = is(&mac.finalize().into_bytes()) {
            return Some((claim, None));
        }
        let functions = Function::ALL.into_iter().filter(|_| functions);
        let mut others = functions.filter_map(|function| {
            let claim = is(&function.of(keyed.key, &feed))?;
            // Other headers hold digests of the body too, which are no signatures.
            let digest_of_body = matches!(function, Function::Keyless) && claim.is_elsewhere();
            (!digest_of_body).then_some((claim, Some(function.name())))
        });
        others.next()
    }
}

/// A key, ready for bytes.
struct Keyed<'k> {
    key: &'k [u8],
    sha256: Hmac<Sha256>,
}

impl<'k> Keyed<'k> {
    fn new(key: &'k [u8]) -> Self {
        Self { key, sha256: hmac(key) }
    }
}

/// Hands the signed bytes over, piece by piece.
type Feed<'f> = dyn Fn(&mut dyn FnMut(&[u8])) + 'f;

fn hmac<M: KeyInit>(key: &[u8]) -> M {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length (RFC 2104)")]
    M::new_from_slice(key).expect("an HMAC key")
}

/// What is taken for HMAC-SHA256.
#[derive(Clone, Copy, Debug)]
enum Function {
    HmacSha512,
    HmacSha384,
    SecretFirst,
    SecretLast,
    Keyless,
    Swapped,
}

impl Function {
    const ALL: [Self; 6] = [
        Self::Swapped,
        Self::HmacSha512,
        Self::HmacSha384,
        Self::SecretFirst,
        Self::SecretLast,
        Self::Keyless,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::HmacSha512 => "HMAC-SHA512",
            Self::HmacSha384 => "HMAC-SHA384",
            Self::SecretFirst => "SHA-256 of secret and content, not an HMAC",
            Self::SecretLast => "SHA-256 of content and secret, not an HMAC",
            Self::Keyless => "SHA-256 of the content, without the secret",
            Self::Swapped => "HMAC-SHA256 of the secret, with the content as key",
        }
    }

    fn of(self, key: &[u8], feed: &Feed<'_>) -> Vec<u8> {
        let plain = |first: &[u8], last: &[u8]| {
            let mut hash = Sha256::new();
            hash.update(first);
            feed(&mut |bytes| hash.update(bytes));
            hash.update(last);
            hash.finalize().to_vec()
        };
        match self {
            Self::HmacSha512 => {
                let mut mac: Hmac<Sha512> = hmac(key);
                feed(&mut |bytes| mac.update(bytes));
                mac.finalize().into_bytes().to_vec()
            }
            Self::HmacSha384 => {
                let mut mac: Hmac<Sha384> = hmac(key);
                feed(&mut |bytes| mac.update(bytes));
                mac.finalize().into_bytes().to_vec()
            }
            Self::Swapped => {
                let mut content = vec![];
                feed(&mut |bytes| content.extend_from_slice(bytes));
                let mac: Hmac<Sha256> = hmac(&content);
                mac.chain_update(key).finalize().into_bytes().to_vec()
            }
            Self::SecretFirst => plain(key, &[]),
            Self::SecretLast => plain(&[], key),
            Self::Keyless => plain(&[], &[]),
        }
    }
}
