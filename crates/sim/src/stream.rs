//! Listeners and connections of both families: TCP, and Unix domain sockets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::sys::socket::{setsockopt, sockopt};

/// Where clients come in.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix { listener: UnixListener, path: PathBuf },
}

impl Listener {
    /// Listens on a path. A socket left there by a server of the past is replaced; any other file is not.
    pub(crate) fn bind_unix(path: &Path) -> std::io::Result<Self> {
        let left_over = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        if left_over && UnixStream::connect(path).is_err() {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Listener::Unix { listener, path: path.to_owned() })
    }

    pub(crate) fn accept(&self) -> std::io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
            Listener::Unix { listener, .. } => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix { path, .. } = self {
            // Another process may have removed it.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix { listener, .. } => listener.as_fd(),
        }
    }
}

/// An accepted connection.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Makes it ready for a loop that never blocks and whose every write leaves at once.
    pub(crate) fn prepare(&self) -> std::io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)),
            Stream::Unix(stream) => stream.set_nonblocking(true),
        }
    }

    pub(crate) fn is_tcp(&self) -> bool {
        matches!(self, Stream::Tcp(_))
    }

    pub(crate) fn read(&self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Stream::Tcp(stream) => Read::read(&mut &*stream, buffer),
            Stream::Unix(stream) => Read::read(&mut &*stream, buffer),
        }
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Stream::Tcp(stream) => Write::write(&mut &*stream, bytes),
            Stream::Unix(stream) => Write::write(&mut &*stream, bytes),
        }
    }

    /// Makes the coming close a reset, which drops what was not yet sent. A Unix socket knows none: it is closed.
    pub(crate) fn reset_on_close(&self) {
        if let Stream::Tcp(stream) = self {
            // A socket that is already gone needs no reset.
            let _ = setsockopt(stream, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 });
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}
