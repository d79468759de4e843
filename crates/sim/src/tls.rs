//! TLS: certificates made at the start, and the records of one connection.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{HandshakeKind, ServerConfig, ServerConnection};
use thiserror::Error;

use crate::clock::wall_ns;
use crate::error::SimError;

/// Names in every certificate.
const HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
/// The only name in a certificate for another host.
const OTHER_HOST: &str = "elsewhere.invalid";

/// What the listener shows its clients.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// Names in the certificate beside localhost, 127.0.0.1 and ::1.
    pub hosts: Vec<String>,
    /// Where to write the certificate of the authority that clients shall trust, in PEM.
    pub ca_file: Option<PathBuf>,
    pub certificate: Certificate,
}

/// What is wrong with the server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Certificate {
    /// Nothing.
    #[default]
    Good,
    Expired,
    WrongHost,
    /// It is signed by another authority than the one written for clients.
    UnknownCa,
}

impl Certificate {
    const ALL: [(&'static str, Certificate); 4] = [
        ("good", Certificate::Good),
        ("expired", Certificate::Expired),
        ("wrong-host", Certificate::WrongHost),
        ("unknown-ca", Certificate::UnknownCa),
    ];
}

impl FromStr for Certificate {
    type Err = CertificateError;

    fn from_str(text: &str) -> Result<Self, CertificateError> {
        let found = Self::ALL.into_iter().find(|(name, _)| *name == text);
        found.map(|(_, certificate)| certificate).ok_or_else(|| CertificateError(text.to_owned()))
    }
}

/// Text that is no kind of certificate.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is none of good, expired, wrong-host, unknown-ca")]
pub struct CertificateError(String);

/// Makes an authority and a certificate, writes the authority's for clients, and offers session tickets.
pub(crate) fn server_config(options: &TlsOptions) -> Result<Arc<ServerConfig>, SimError> {
    let failed = |error: &dyn std::fmt::Display| SimError::Tls(error.to_string());
    let (signing, issuer) = authority().map_err(|error| failed(&error))?;
    let trusted = match options.certificate {
        Certificate::UnknownCa => authority().map_err(|error| failed(&error))?.0,
        _ => signing,
    };
    if let Some(path) = &options.ca_file {
        std::fs::write(path, trusted.pem()).map_err(|source| SimError::CaFile { path: path.clone(), source })?;
    }
    let (certificate, key) = server_certificate(options, &issuer).map_err(|error| failed(&error))?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_no_client_auth())
        .and_then(|builder| builder.with_single_cert(vec![certificate.der().clone()], key))
        .map_err(|error| failed(&error))?;
    config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(|error| failed(&error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn authority() -> Result<(rcgen::Certificate, Issuer<'static, KeyPair>), rcgen::Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "aiperf sim authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok((certificate, Issuer::new(params, key)))
}

fn server_certificate(
    options: &TlsOptions,
    issuer: &Issuer<'static, KeyPair>,
) -> Result<(rcgen::Certificate, KeyPair), rcgen::Error> {
    let names: Vec<String> = match options.certificate {
        Certificate::WrongHost => vec![OTHER_HOST.to_owned()],
        _ => HOSTS.iter().map(|host| (*host).to_owned()).chain(options.hosts.iter().cloned()).collect(),
    };
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "aiperf sim");
    params.use_authority_key_identifier_extension = true;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    if options.certificate == Certificate::Expired {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    }
    let key = KeyPair::generate()?;
    Ok((params.signed_by(&key, issuer)?, key))
}

/// The records of one connection; knows no socket.
pub(crate) struct Tls {
    session: Box<ServerConnection>,
    /// When the handshake was over.
    pub(crate) handshake_ns: Option<u64>,
}

impl Tls {
    pub(crate) fn new(config: &Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        let mut session = ServerConnection::new(config.clone())?;
        // What a response writes leaves at once, whatever its size.
        session.set_buffer_limit(None);
        Ok(Tls { session: Box::new(session), handshake_ns: None })
    }

    /// The session continues an earlier one.
    pub(crate) fn resumed(&self) -> bool {
        self.session.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Takes what came from the socket; appends the plain bytes to `plain` and the records that answer it to `out`.
    /// An error, too, has its record: the alert.
    pub(crate) fn receive(
        &mut self,
        mut raw: &[u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), rustls::Error> {
        let mut outcome = Ok(());
        while !raw.is_empty() && outcome.is_ok() {
            // Reading from memory fails only when the session takes no more.
            if !matches!(self.session.read_tls(&mut raw), Ok(count) if count > 0) {
                break;
            }
            outcome = self.session.process_new_packets().map(|_| ());
            // It ends with `WouldBlock` when everything was taken.
            let _ = self.session.reader().read_to_end(plain);
        }
        if self.handshake_ns.is_none() && !self.session.is_handshaking() {
            self.handshake_ns = Some(wall_ns());
        }
        self.take_records(out);
        outcome
    }

    /// The records that carry `plain`.
    pub(crate) fn encrypt(&mut self, plain: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(plain.len() + 64);
        // Memory without a limit takes everything.
        let _ = self.session.writer().write_all(plain);
        self.take_records(&mut out);
        out
    }

    /// The record that closes the session.
    pub(crate) fn close(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.session.send_close_notify();
        self.take_records(&mut out);
        out
    }

    fn take_records(&mut self, out: &mut Vec<u8>) {
        while self.session.wants_write() {
            if self.session.write_tls(out).is_err() {
                return;
            }
        }
    }
}
