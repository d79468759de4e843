//! TLS by rustls: its settings, the handshake, and a session over a socket whose reads are stamped.

use crate::clock::mono_now;
use crate::os_error::os_reason;
use crate::socket::Socket;
use crate::stamp::StampedReader;
use aiperf_types::{MonoNs, Read};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, HandshakeKind,
    RootCertStore,
};
use rustls_pki_types::pem::PemObject;
use std::cell::RefCell;
use std::io::{self, IoSlice, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use thiserror::Error;

/// What raw bytes are read into before they are decrypted: several records, so that one read empties the socket.
const SCRATCH: usize = 64 << 10;

/// The protocols offered where HTTP/2 is wanted; HTTP/1.1 offers none, as the reference does not.
const HTTP2: &[u8] = b"h2";

thread_local! {
    static RAW: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
}

/// Why TLS cannot be set up.
#[derive(Debug, Error)]
pub enum TlsSetupError {
    #[error("cannot read '{path}': {source}")]
    File { path: String, source: io::Error },
    #[error("'{0}' has no certificate in PEM form")]
    NoCertificate(String),
    #[error("'{path}' has no private key in PEM form: {reason}")]
    Key { path: String, reason: String },
    #[error("the system has no certificates to verify servers by")]
    NoRoots,
    #[error("TLS cannot be set up: {0}")]
    Other(#[from] rustls::Error),
}

/// Which certificates to trust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// The system's certificate authorities.
    #[default]
    System,
    /// Those of a file in PEM form.
    File(PathBuf),
    Any,
}

/// How a client shows who it is: files in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// What all TLS connections of a run share, so that sessions can be taken up again. Made when the first of them asks:
/// reading the system's certificates takes milliseconds that a run without TLS does not have.
#[derive(Debug, Default)]
pub struct TlsSettings {
    trust: Trust,
    /// Offer HTTP/2 and nothing else.
    http2: bool,
    identity: Option<Identity>,
    made: OnceLock<Result<Arc<ClientConfig>, TlsSetupError>>,
}

impl TlsSettings {
    pub fn new(trust: Trust, http2: bool) -> Self {
        Self { trust, http2, identity: None, made: OnceLock::new() }
    }

    /// The same, for a client that shows who it is.
    #[must_use]
    pub fn with_identity(self, identity: Option<Identity>) -> Self {
        Self { identity, made: OnceLock::new(), ..self }
    }

    /// The settings as rustls has them, or why there are none.
    pub fn config(&self) -> Result<&Arc<ClientConfig>, &TlsSetupError> {
        self.made.get_or_init(|| client_config(&self.trust, self.http2, self.identity.as_ref())).as_ref()
    }
}

fn client_config(trust: &Trust, http2: bool, identity: Option<&Identity>) -> Result<Arc<ClientConfig>, TlsSetupError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let builder = match trust {
        Trust::Any => {
            let verifier = Arc::new(TrustAny(provider));
            builder.dangerous().with_custom_certificate_verifier(verifier)
        }
        Trust::System => builder.with_root_certificates(system_roots()?),
        Trust::File(path) => {
            let verifier = Arc::new(TrustFile::read(path, provider)?);
            builder.dangerous().with_custom_certificate_verifier(verifier)
        }
    };
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(Identity { certificate, key }) => {
            let chain = certificates(certificate)?;
            let key = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| TlsSetupError::Key { path: key.display().to_string(), reason: error.to_string() })?;
            builder.with_client_auth_cert(chain, key)?
        }
    };
    if http2 {
        config.alpn_protocols = vec![HTTP2.to_vec()];
    }
    Ok(Arc::new(config))
}

/// All that a file in PEM form holds, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsSetupError> {
    let shown = path.display().to_string();
    let text = std::fs::read(path).map_err(|source| TlsSetupError::File { path: shown.clone(), source })?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(&text).flatten().collect();
    if found.is_empty() { Err(TlsSetupError::NoCertificate(shown)) } else { Ok(found) }
}

fn system_roots() -> Result<RootCertStore, TlsSetupError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(TlsSetupError::NoRoots) } else { Ok(roots) }
}

/// Why a handshake failed.
#[derive(Debug)]
pub(crate) enum HandshakeError {
    /// A certificate that does not verify: which check failed, and the way out.
    Certificate(String),
    Other(String),
}

impl From<rustls::Error> for HandshakeError {
    fn from(error: rustls::Error) -> Self {
        match error {
            rustls::Error::InvalidCertificate(fault) => Self::Certificate(certificate_fault(&fault)),
            rustls::Error::InvalidMessage(_) => {
                Self::Other("the server does not speak TLS here; try http:// instead of https://".into())
            }
            rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)
            | rustls::Error::NoApplicationProtocol => {
                Self::Other("the server does not offer HTTP/2; leave --transport http2 out".into())
            }
            other => Self::Other(format!("TLS handshake failed: {other}")),
        }
    }
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return error.clone().into();
        }
        Self::Other(format!("TLS handshake failed: {}", os_reason(&error)))
    }
}

fn certificate_fault(fault: &CertificateError) -> String {
    let trust =
        "trust its authority with SSL_CERT_FILE=<its PEM file>, or verify nothing with AIPERF_HTTP_SSL_VERIFY=false";
    match fault {
        // A bad signature: an authority of the right name that is another one, as after a new one was made.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            format!("the certificate is signed by an authority that is not trusted; {trust}")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the certificate has expired; renew it, or verify nothing with AIPERF_HTTP_SSL_VERIFY=false".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the certificate is not valid yet; is the clock right? AIPERF_HTTP_SSL_VERIFY=false verifies nothing".into()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "the certificate is for another host name; use the name it was made for, or verify nothing with \
             AIPERF_HTTP_SSL_VERIFY=false"
                .into()
        }
        CertificateError::Revoked => "the certificate was revoked".into(),
        fault if is_of_an_authority(fault) => {
            format!("the certificate is signed by itself and not trusted; {trust}")
        }
        other => format!("the certificate does not verify: {other}; {trust}"),
    }
}

/// Makes a TLS session on a socket, and returns when its first byte was ready: making keys before that is our own time,
/// not the server's.
pub(crate) async fn handshake(
    socket: &Socket,
    reader: &StampedReader,
    config: &Arc<ClientConfig>,
    host: &str,
) -> Result<(Session, MonoNs), HandshakeError> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| HandshakeError::Other(format!("'{host}' is no name that a certificate can be for")))?;
    let connection = ClientConnection::new(config.clone(), name)?;
    let records = Records::default();
    let mut session =
        Session { connection, records, newest: Read::default(), unfed: Vec::new(), unsent: 0, was_cut: false };
    let start = mono_now();
    std::future::poll_fn(|cx| session.poll_handshake(cx, socket, reader)).await?;
    Ok((session, start))
}

/// Follows the lengths of records through raw bytes.
#[derive(Debug, Default)]
struct Records {
    /// The part of a header so far.
    header: [u8; RECORD_HEADER],
    headed: usize,
    /// Bytes that are missing of a record whose header is complete.
    missing: usize,
}

/// A type, a version and a length.
const RECORD_HEADER: usize = 5;

impl Records {
    /// Whether a record ends with these bytes.
    fn end_with(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if self.missing == 0 {
                let (header, rest) = bytes.split_at(bytes.len().min(RECORD_HEADER - self.headed));
                self.header[self.headed..self.headed + header.len()].copy_from_slice(header);
                self.headed += header.len();
                bytes = rest;
                if self.headed == RECORD_HEADER {
                    self.missing = usize::from(u16::from_be_bytes([self.header[3], self.header[4]]));
                    self.headed = 0;
                }
            }
            let body = bytes.len().min(self.missing);
            self.missing -= body;
            bytes = &bytes[body..];
        }
        self.missing == 0 && self.headed == 0
    }
}

/// A TLS session and what lies between it and its socket.
pub(crate) struct Session {
    connection: ClientConnection,
    records: Records,
    /// The raw read of the bytes that are being decrypted.
    newest: Read,
    /// Raw bytes that the session had no room for yet.
    unfed: Vec<u8>,
    /// Plain bytes that the session took and the socket has not.
    unsent: usize,
    /// The connection closed without `close_notify`.
    was_cut: bool,
}

impl Session {
    pub(crate) fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Whether the connection closed without `close_notify`: what came may not be all.
    pub(crate) fn was_cut(&self) -> bool {
        self.was_cut
    }

    pub(crate) fn speaks_http2(&self) -> bool {
        self.connection.alpn_protocol() == Some(HTTP2)
    }

    fn poll_handshake(
        &mut self,
        cx: &mut Context<'_>,
        socket: &Socket,
        reader: &StampedReader,
    ) -> Poll<Result<(), HandshakeError>> {
        while self.connection.is_handshaking() {
            ready!(self.poll_flush(cx, socket))?;
            if !self.connection.is_handshaking() {
                break;
            }
            match ready!(self.poll_raw(cx, socket, reader)) {
                Ok(0) => {
                    let text = "the server closed the connection in the TLS handshake";
                    return Poll::Ready(Err(HandshakeError::Other(text.into())));
                }
                Ok(_) => {}
                Err(error) => {
                    // The server gets the reason, if it listens.
                    let _ = self.poll_flush(cx, socket);
                    return Poll::Ready(Err(error.into()));
                }
            }
        }
        self.poll_flush(cx, socket).map_err(Into::into)
    }

    /// Hands the session the bytes of one raw read; 0 at the end of the stream. Its packets are not processed yet.
    fn poll_raw(&mut self, cx: &mut Context<'_>, socket: &Socket, reader: &StampedReader) -> Poll<io::Result<usize>> {
        RAW.with_borrow_mut(|raw| {
            let read = ready!(socket.poll_read(cx, reader, raw))?;
            let came = read.len as usize;
            if came == 0 {
                self.connection.read_tls(&mut io::empty())?;
                return Poll::Ready(Ok(0));
            }
            self.newest = Read { is_followed: !self.records.end_with(&raw[..came]), ..read };
            let unfed = std::mem::take(&mut self.unfed);
            if unfed.is_empty() {
                self.feed(&raw[..came])?;
            } else {
                self.feed(&[&unfed, &raw[..came]].concat())?;
            }
            Poll::Ready(Ok(came))
        })
    }

    /// Decrypts what the session has room for, and keeps the rest.
    fn feed(&mut self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            match self.connection.read_tls(&mut rest) {
                // The other side has closed: what follows belongs to no response.
                Ok(0) => return Ok(()),
                Ok(_) => {}
                // No room: what was decrypted has to be read first.
                Err(_) => break,
            }
            self.connection.process_new_packets().map_err(io::Error::other)?;
        }
        self.unfed = rest.to_vec();
        Ok(())
    }

    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        socket: &Socket,
        reader: &StampedReader,
        room: &mut [u8],
    ) -> Poll<io::Result<Read>> {
        loop {
            match self.connection.reader().read(room) {
                Ok(len) => return Poll::Ready(Ok(Read { len: len as u32, ..self.newest })),
                // What is missing, the framing of the response knows, unless the close itself is its end.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.was_cut = true;
                    return Poll::Ready(Ok(Read { len: 0, ..self.newest }));
                }
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Poll::Ready(Err(error)),
                Err(_) => {}
            }
            if !self.unfed.is_empty() {
                let unfed = std::mem::take(&mut self.unfed);
                self.feed(&unfed)?;
                continue;
            }
            ready!(self.poll_raw(cx, socket, reader))?;
            if self.connection.wants_write() {
                // The reply to a key update; if the socket is full it goes out with the next request.
                let _ = self.poll_flush(cx, socket)?;
            }
        }
    }

    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        socket: &Socket,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.unsent == 0 {
            self.unsent = self.connection.writer().write_vectored(parts)?;
        }
        ready!(self.poll_flush(cx, socket))?;
        Poll::Ready(Ok(std::mem::take(&mut self.unsent)))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>, socket: &Socket) -> Poll<io::Result<()>> {
        while self.connection.wants_write() {
            let mut out = ToSocket { socket, cx };
            match self.connection.write_tls(&mut out) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Takes in what has come, without waiting.
    pub(crate) fn receive(&mut self, socket: &Socket, reader: &StampedReader) -> io::Result<()> {
        RAW.with_borrow_mut(|raw| {
            let came = reader.read(socket, raw)?.len as usize;
            self.records.end_with(&raw[..came]);
            let unfed = std::mem::take(&mut self.unfed);
            self.feed(&[&unfed, &raw[..came]].concat())
        })
    }

    /// Whether the other side has sent nothing of a response, nor closed.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let is_silent = self
            .connection
            .process_new_packets()
            .is_ok_and(|state| state.plaintext_bytes_to_read() == 0 && !state.peer_has_closed());
        is_silent && self.unfed.is_empty()
    }
}

struct ToSocket<'a, 'b> {
    socket: &'a Socket,
    cx: &'a mut Context<'b>,
}

impl Write for ToSocket<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.socket.poll_write(self.cx, parts) {
            Poll::Ready(result) => result,
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Trusts the authorities of a file, and the file's own certificates where a server shows one of them: a certificate
/// that signs itself, as `openssl req -x509` makes it, is an authority to the rules and a server to its user.
#[derive(Debug)]
struct TrustFile {
    by_rules: Arc<WebPkiServerVerifier>,
    own: Vec<CertificateDer<'static>>,
}

impl TrustFile {
    fn read(path: &Path, provider: Arc<CryptoProvider>) -> Result<Self, TlsSetupError> {
        let own = certificates(path)?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(own.iter().cloned());
        if roots.is_empty() {
            return Err(TlsSetupError::NoCertificate(path.display().to_string()));
        }
        let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let by_rules = built.map_err(|error| TlsSetupError::Other(rustls::Error::General(error.to_string())))?;
        Ok(Self { by_rules, own })
    }
}

impl ServerCertVerifier for TrustFile {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.by_rules.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(fault))
                if is_of_an_authority(&fault) && self.own.iter().any(|own| own == end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.by_rules.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.by_rules.verify_tls13_signature(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.by_rules.supported_verify_schemes()
    }
}

/// Whether a server showed an authority's certificate, which webpki reports as text alone.
fn is_of_an_authority(fault: &CertificateError) -> bool {
    matches!(fault, CertificateError::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity"))
}

/// Takes any certificate for good, as the user asked.
#[derive(Debug)]
struct TrustAny(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_end_a_record_wherever_reads_cut_it() {
        let record = |len: usize| [&[23, 3, 3, 0, len as u8][..], &vec![7; len]].concat();
        let bytes = [record(4), record(0), record(9)].concat();
        let ends = [9, 14, 28];
        for size in 1..=bytes.len() {
            let (mut records, mut read) = (Records::default(), 0);
            for part in bytes.chunks(size) {
                read += part.len();
                assert_eq!(records.end_with(part), ends.contains(&read), "{read} bytes, {size} at once");
            }
        }
    }
}
