//! Certificates that the user trusts: a file that cannot be used is found before anything is sent.

use aiperf_plan::Plan;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The variable that names the file, as messages name it.
const VARIABLE: &str = "SSL_CERT_FILE";

/// More than all authorities of the world in PEM: a device would never end.
const LARGEST: u64 = 64 << 20;

/// A file of certificates that cannot be used.
#[derive(Debug, Error)]
#[error("{VARIABLE}={} {fault}\n  servers of https:// URLs are trusted by the certificates in it\n  try: a file in PEM, or unset {VARIABLE} to trust the system's", path.display())]
pub struct CertificatesError {
    path: PathBuf,
    fault: String,
}

/// Refuses a file of certificates that a run would use and cannot.
pub(crate) fn check(plan: &Plan) -> Result<(), CertificatesError> {
    let http = &plan.endpoint.http;
    let is_tls = plan.endpoint.urls.iter().any(|url| url.is_tls());
    match &http.ca_file {
        Some(path) if is_tls && http.verify_certificates => {
            fault(path).map_or(Ok(()), |fault| Err(CertificatesError { path: path.clone(), fault }))
        }
        _ => Ok(()),
    }
}

/// Why a file of certificates cannot be used.
pub(crate) fn fault(path: &Path) -> Option<String> {
    let text = match text(path) {
        Ok(text) => text,
        Err(fault) => return Some(fault),
    };
    let body = text.split_once("-----BEGIN CERTIFICATE-----").map(|(_, rest)| rest);
    let is_whole = body.is_some_and(|rest| rest.contains("-----END CERTIFICATE-----"));
    (!is_whole).then(|| "holds no certificate in PEM".to_owned())
}

/// Why a file cannot even be read.
pub(crate) fn unreadable(path: &Path) -> Option<String> {
    text(path).err()
}

fn text(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    match fs::metadata(path) {
        // Looked at before it is opened: opening a pipe already waits.
        Ok(found) if !found.is_file() => return Err("is not a file".to_owned()),
        Err(error) => return Err(format!("cannot be read: {error}")),
        Ok(_) => {}
    }
    if let Err(error) = fs::File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes)) {
        return Err(format!("cannot be read: {error}"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_certificate_says_why_it_cannot_be_used() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let whole = "# mine\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        assert_eq!(fault(&file("good.pem", whole)), None);
        for text in ["", "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n", &whole[..40]] {
            assert_eq!(fault(&file("bad.pem", text)).as_deref(), Some("holds no certificate in PEM"), "{text}");
        }
        assert_eq!(fault(dir.path()).as_deref(), Some("is not a file"));
        assert!(fault(&dir.path().join("missing")).unwrap().starts_with("cannot be read: "));
    }

    #[test]
    fn the_message_names_variable_and_path() {
        let error = CertificatesError { path: "/ca.pem".into(), fault: "is not a file".into() };
        assert_eq!(
            error.to_string(),
            "SSL_CERT_FILE=/ca.pem is not a file\n  servers of https:// URLs are trusted by the certificates in it\n  \
             try: a file in PEM, or unset SSL_CERT_FILE to trust the system's"
        );
    }
}
