//! HTTP/2 exchanges against servers on real sockets: some of `h2`, some that write frames by hand.

use aiperf_transport::body;
use aiperf_transport::clock::mono_now;
use aiperf_transport::http2::frames::{FrameWalker, flag, kind};
use aiperf_transport::http2::{Http2Connection, Http2Exchange, Http2Failure, Progress};
use aiperf_transport::receive::Retention;
use aiperf_transport::stamp::{StampMode, StampedReader};
use aiperf_transport::stamped_stream::StampedStream;
use aiperf_transport::{
    Cancel, Client, ClientSettings, ConnectSettings, Origin, OutgoingRequest, Outstanding, Protocol, ProxyChoice,
    Redirects, Resolution, Reuse, SocketOptions, StreamEnd, Watch,
};
use aiperf_types::{Exchange, Failure, MonoNs, Nanos, Read, Timeline};
use bytes::Bytes;
use h2::server::{self, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::uri::Scheme;
use http::{Request, Response};
use std::future::poll_fn;
use std::io::{self, IoSlice, Read as _, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::Notify;
use tokio::task::spawn_local;

const KEPT: usize = 64 << 20;

struct TestStream {
    socket: TcpStream,
    reader: StampedReader,
}

impl StampedStream for TestStream {
    fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<Read>> {
        loop {
            ready!(self.socket.poll_read_ready(cx))?;
            let mut outcome = None;
            let tried = self.socket.try_io(Interest::READABLE, || {
                let read = self.reader.read(&self.socket, room)?;
                outcome = Some(read);
                // A short read emptied the socket.
                if read.len != 0 && (read.len as usize) < room.len() {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Ok(())
            });
            match (outcome, tried) {
                (Some(read), _) => return Poll::Ready(Ok(read)),
                (None, Err(error)) if error.kind() != io::ErrorKind::WouldBlock => return Poll::Ready(Err(error)),
                _ => {}
            }
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.socket.poll_write_ready(cx))?;
            match self.socket.try_write_vectored(parts) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(
            nix::sys::socket::shutdown(
                std::os::fd::AsRawFd::as_raw_fd(&self.socket),
                nix::sys::socket::Shutdown::Write,
            )
            .map_err(io::Error::from),
        )
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap().block_on(future)
}

type ServerConnection = server::Connection<TcpStream, Bytes>;
type Incoming = (Request<RecvStream>, SendResponse<Bytes>);

/// A server of `h2` for one connection, on a thread of its own.
fn serve<F: Future>(
    settings: server::Builder,
    script: impl FnOnce(ServerConnection) -> F + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        block_on(async {
            let (socket, _) = listener.accept().unwrap();
            socket.set_nonblocking(true).unwrap();
            let socket = TcpStream::from_std(socket).unwrap();
            script(settings.handshake(socket).await.unwrap()).await;
        });
    });
    address
}

/// A server whose every request is answered in a task.
fn serve_each<F: Future<Output = ()> + 'static>(script: impl Fn(Incoming) -> F + Send + 'static) -> SocketAddr {
    serve(server::Builder::new(), |mut connection| async move {
        while let Some(Ok(incoming)) = connection.accept().await {
            spawn_local(script(incoming));
        }
    })
}

/// A server that waits for some whole requests, writes bytes, and sends no more; it may also close.
fn write_frames(requests: usize, bytes: Vec<u8>, closes: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut walker = FrameWalker::after_preface();
        let (mut seen, mut room) = (0, [0; 4096]);
        while seen < requests {
            let len = socket.read(&mut room).unwrap();
            walker.walk(&room[..len], |part| {
                let ends = part.frame.is_of_message() && part.frame.has(flag::END_STREAM);
                seen += usize::from(ends && part.is_last);
            });
        }
        socket.write_all(&bytes).unwrap();
        if closes {
            socket.shutdown(Shutdown::Write).unwrap();
        }
        // What the client still sends is read, so that no reset overtakes the close.
        while socket.read(&mut room).is_ok_and(|len| len > 0) {}
    });
    address
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u32).to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
/// `:status: 200` in HPACK.
const STATUS_200: &[u8] = &[0x88];

async fn connect(address: SocketAddr) -> Http2Connection {
    let socket = TcpStream::connect(address).await.unwrap();
    socket.set_nodelay(true).unwrap();
    let stream = TestStream { socket, reader: StampedReader::new(StampMode::User) };
    Http2Connection::open(stream, Scheme::HTTP).await.unwrap()
}

fn start(connection: &Http2Connection, path: &str, body: Bytes, kept: usize) -> (Exchange, Http2Exchange) {
    let head = format!("POST {path} HTTP/1.1\r\nHost: server\r\nContent-Length: {}\r\n\r\n", body.len());
    let timeline = Timeline { start: mono_now(), send_start: mono_now(), ..Timeline::default() };
    let exchange = Exchange { timeline, raw: vec![0; 100], ..Exchange::default() };
    (exchange, Http2Exchange::start(connection, head.as_bytes(), &body.into(), Retention::up_to(kept)).unwrap())
}

async fn send(connection: &Http2Connection, path: &str) -> (Exchange, Result<(), Http2Failure>) {
    let (mut exchange, running) = start(connection, path, Bytes::from_static(b"{}"), KEPT);
    let result = running.run(&mut exchange).await;
    (exchange, result)
}

/// One request on a connection of its own.
fn send_alone(address: SocketAddr) -> (Exchange, Result<(), Http2Failure>) {
    block_on(async { send(&connect(address).await, "/").await })
}

async fn receive(running: &mut Http2Exchange, exchange: &mut Exchange) -> Result<Progress, Http2Failure> {
    poll_fn(|cx| running.poll_progress(cx, exchange)).await
}

fn respond(mut respond: SendResponse<Bytes>, status: u16, ends: bool) -> SendStream<Bytes> {
    let response = Response::builder().status(status).header("Content-Type", "text/event-stream").body(()).unwrap();
    respond.send_response(response, ends).unwrap()
}

/// What every whole exchange has in common.
fn assert_whole(exchange: &Exchange) {
    let t = &exchange.timeline;
    assert!(t.start <= t.send_start && t.send_start <= t.send_end && t.send_end <= t.head, "{t:?}");
    assert!(t.head <= t.end && t.end <= mono_now(), "{t:?}");
    assert!(t.reads.is_sorted_by_key(|read| read.at) && t.reads.last().is_some_and(|read| read.at <= t.end), "{t:?}");
    assert_eq!(t.reads.iter().map(|read| read.len as usize).sum::<usize>(), exchange.raw_len);
    assert!(t.writes > 0 && t.bytes_sent > 0 && t.bytes_received > 0, "{t:?}");
    assert!(!exchange.chunked && exchange.head_at == 0);
}

#[test]
fn a_whole_response_reads_as_one_of_http_1() {
    let address = serve_each(|(request, reply)| async move {
        assert_eq!(request.uri(), "http://server/v1/chat?x=1");
        assert_eq!(request.headers()["content-length"], "2");
        respond(reply, 200, false).send_data(Bytes::from_static(b"data: hello\n\n"), true).unwrap();
    });
    let (exchange, result) = block_on(async { send(&connect(address).await, "/v1/chat?x=1").await });
    result.unwrap();
    assert_whole(&exchange);
    let head = b"HTTP/2 200\r\ncontent-type: text/event-stream\r\n\r\n";
    assert_eq!((&exchange.raw[..exchange.body_at], exchange.status), (&head[..], Some(200)));
    assert_eq!(body::collect(&exchange), b"data: hello\n\n");
    assert!(body::is_event_stream(&exchange) && body::reason(&exchange).is_empty());
    let t = &exchange.timeline;
    assert_eq!((t.body_reads, t.body_start), (1, t.end));
    // A DATA frame with two bytes, and a HEADERS frame whose length depends on compression.
    assert!((21..100).contains(&t.bytes_sent), "{t:?}");
    // The head, and 13 bytes of data in a frame.
    assert!((9 + 22..100).contains(&t.bytes_received), "{t:?}");
}

#[test]
fn pieces_of_a_streamed_response_have_instants_between_their_sending_and_their_receipt() {
    let taken = Arc::new(Notify::new());
    let gate = taken.clone();
    let address = serve_each(move |(_, reply)| {
        let gate = gate.clone();
        async move {
            let mut stream = respond(reply, 200, false);
            for _ in 0..20 {
                gate.notified().await;
                stream.send_data(format!("{:>20}\n", mono_now().0).into(), false).unwrap();
            }
            gate.notified().await;
            stream.send_data(mono_now().0.to_string().into(), true).unwrap();
        }
    });
    let (exchange, received) = block_on(async {
        let connection = connect(address).await;
        let (mut exchange, mut running) = start(&connection, "/", Bytes::new(), KEPT);
        let mut received = Vec::new();
        while receive(&mut running, &mut exchange).await.unwrap() == Progress::Received {
            received.push(mono_now().0);
            taken.notify_one();
        }
        (exchange, received)
    });
    assert_whole(&exchange);
    let mut spans = Vec::new();
    body::for_each_span(&exchange, |read, bytes| {
        spans.push((read.at.0, std::str::from_utf8(bytes).unwrap().trim().parse::<u64>().unwrap()));
    });
    assert_eq!((spans.len(), exchange.timeline.body_reads), (21, 21));
    for (&(at, sent), received) in spans.iter().zip(&received[1..]) {
        assert!(sent <= at && at <= *received, "{sent} {at} {received}");
    }
    assert_eq!(exchange.timeline.end.0, spans[20].0);
}

#[test]
fn many_streams_at_once_each_get_their_own_bytes_and_instants() {
    const STREAMS: usize = 40;
    const ROUNDS: usize = 25;
    let address = serve(server::Builder::new(), |mut connection| async move {
        let mut streams = Vec::new();
        while streams.len() < STREAMS {
            let (request, reply) = connection.accept().await.unwrap().unwrap();
            streams.push((request.uri().path().to_owned(), respond(reply, 200, false)));
        }
        let driver = spawn_local(async move { while connection.accept().await.is_some() {} });
        for round in 0..ROUNDS {
            for (path, stream) in &mut streams {
                let ends = round + 1 == ROUNDS;
                stream.send_data(format!("{path} {round} {}\n", mono_now().0).into(), ends).unwrap();
            }
            tokio::task::yield_now().await;
        }
        driver.await.unwrap();
    });
    block_on(async {
        let connection = Rc::new(connect(address).await);
        let tasks: Vec<_> = (0..STREAMS)
            .map(|number| {
                let connection = connection.clone();
                spawn_local(async move { send(&connection, &format!("/{number}")).await })
            })
            .collect();
        for (number, task) in tasks.into_iter().enumerate() {
            let (exchange, result) = task.await.unwrap();
            result.unwrap();
            assert_whole(&exchange);
            let mut lines = 0;
            body::for_each_span(&exchange, |read, bytes| {
                for line in std::str::from_utf8(bytes).unwrap().lines() {
                    let (what, sent) = line.rsplit_once(' ').unwrap();
                    assert_eq!(what, format!("/{number} {lines}"));
                    assert!(sent.parse::<u64>().unwrap() <= read.at.0, "{line} {read:?}");
                    lines += 1;
                }
            });
            assert_eq!(lines, ROUNDS);
        }
        assert_eq!((connection.open_streams(), connection.is_usable()), (0, true));
    });
}

#[test]
fn an_error_status_is_a_response() {
    let address = serve_each(|(_, reply)| async move {
        respond(reply, 503, false).send_data(Bytes::from_static(b"busy"), true).unwrap();
    });
    let (exchange, result) = send_alone(address);
    result.unwrap();
    assert_eq!((exchange.status, body::collect(&exchange)), (Some(503), b"busy".to_vec()));
}

#[test]
fn a_response_without_a_body_ends_with_its_head() {
    let (exchange, result) = send_alone(serve_each(|(_, reply)| async move {
        respond(reply, 204, true);
    }));
    result.unwrap();
    assert_whole(&exchange);
    let t = &exchange.timeline;
    assert_eq!((t.end, t.body_reads, t.reads.len(), exchange.body_at), (t.head, 0, 1, exchange.raw_len));
}

#[test]
fn a_reset_before_the_head_decides_whether_the_request_may_go_out_again() {
    for (reason, again) in [(Reason::REFUSED_STREAM, true), (Reason::INTERNAL_ERROR, false)] {
        let (exchange, result) = send_alone(serve_each(move |(_, mut reply)| async move { reply.send_reset(reason) }));
        let failure = result.unwrap_err();
        assert!(matches!(failure, Http2Failure::Reset { reason: found, after_head: false } if found == reason));
        assert_eq!((failure.may_be_sent_again(), exchange.status), (again, None));
        assert!(exchange.timeline.end >= exchange.timeline.send_end && exchange.timeline.bytes_sent > 0);
    }
}

#[test]
fn a_reset_after_the_head_leaves_what_came() {
    let frames = [
        SETTINGS.to_vec(),
        frame(kind::HEADERS, flag::END_HEADERS, 1, STATUS_200),
        frame(kind::DATA, 0, 1, b"part"),
        frame(kind::RST_STREAM, 0, 1, &u32::from(Reason::INTERNAL_ERROR).to_be_bytes()),
    ];
    let received = Arc::new(Notify::new());
    let gate = received.clone();
    let by_h2 = serve_each(move |(_, reply)| {
        let gate = gate.clone();
        async move {
            let mut stream = respond(reply, 200, false);
            stream.send_data(Bytes::from_static(b"part"), false).unwrap();
            gate.notified().await;
            stream.send_reset(Reason::INTERNAL_ERROR);
        }
    });
    for address in [write_frames(1, frames.concat(), false), by_h2] {
        let (exchange, failure) = block_on(async {
            let connection = connect(address).await;
            let (mut exchange, mut running) = start(&connection, "/", Bytes::from_static(b"{}"), KEPT);
            let failure = loop {
                match receive(&mut running, &mut exchange).await {
                    Ok(_) if exchange.timeline.body_reads > 0 => received.notify_one(),
                    Ok(_) => {}
                    Err(failure) => break failure,
                }
            };
            assert!(connection.is_usable());
            (exchange, failure)
        });
        let text = failure.to_string();
        assert!(matches!(failure, Http2Failure::Reset { reason: Reason::INTERNAL_ERROR, after_head: true }), "{text}");
        assert_eq!((exchange.status, body::collect(&exchange)), (Some(200), b"part".to_vec()));
    }
}

#[test]
fn after_a_go_away_old_requests_finish_and_new_ones_are_for_another_connection() {
    let frames = [
        SETTINGS.to_vec(),
        frame(kind::GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]),
        frame(kind::HEADERS, flag::END_HEADERS, 1, STATUS_200),
        frame(kind::DATA, flag::END_STREAM, 1, b"whole"),
    ];
    let address = write_frames(2, frames.concat(), false);
    block_on(async {
        let connection = connect(address).await;
        assert!(connection.is_usable());
        let (mut first, running_first) = start(&connection, "/", Bytes::from_static(b"{}"), KEPT);
        let (mut second, running_second) = start(&connection, "/", Bytes::from_static(b"{}"), KEPT);
        let failure = running_second.run(&mut second).await.unwrap_err();
        assert!(matches!(failure, Http2Failure::NotProcessed) && failure.may_be_sent_again(), "{failure}");
        assert!(!connection.is_usable());
        running_first.run(&mut first).await.unwrap();
        assert_eq!(body::collect(&first), b"whole");
        let head = b"POST / HTTP/1.1\r\nHost: server\r\n\r\n";
        let third = Http2Exchange::start(&connection, head, &Bytes::new().into(), Retention::up_to(KEPT));
        assert!(matches!(third, Err(Http2Failure::NotProcessed)));
    });
}

#[test]
fn a_graceful_shutdown_lets_the_response_finish() {
    let address = serve(server::Builder::new(), |mut connection| async move {
        let (_, reply) = connection.accept().await.unwrap().unwrap();
        connection.graceful_shutdown();
        respond(reply, 200, false).send_data(Bytes::from_static(b"whole"), true).unwrap();
        while connection.accept().await.is_some() {}
    });
    block_on(async {
        let connection = connect(address).await;
        let (exchange, result) = send(&connection, "/").await;
        result.unwrap();
        assert_eq!(body::collect(&exchange), b"whole");
        assert!(!connection.is_usable());
    });
}

#[test]
fn a_server_that_closes_is_noticed_before_and_in_the_middle_of_a_response() {
    let head = frame(kind::HEADERS, flag::END_HEADERS, 1, STATUS_200);
    let part = frame(kind::DATA, 0, 1, b"part");
    let cut = frame(kind::DATA, 0, 1, b"and a cut frame");
    for (frames, status, came) in [
        (vec![], None, &b""[..]),
        (vec![&head[..]], Some(200), b""),
        (vec![&head[..], &part[..]], Some(200), b"part"),
        (vec![&head[..], &part[..], &cut[..12]], Some(200), b"part"),
    ] {
        let bytes = [&SETTINGS[..], &frames.concat()].concat();
        let (exchange, result) = send_alone(write_frames(1, bytes, true));
        let failure = result.unwrap_err();
        let text = failure.to_string();
        assert!(matches!(failure, Http2Failure::Closed { after_head } if after_head == status.is_some()), "{text}");
        assert_eq!((exchange.status, body::collect(&exchange)), (status, came.to_vec()));
        assert!(!failure.may_be_sent_again() && exchange.timeline.end >= exchange.timeline.send_end);
        let frames: usize = frames.iter().map(|frame| frame.len()).sum();
        assert_eq!(exchange.timeline.bytes_received, frames as u64);
    }
}

#[test]
fn malformed_frames_are_an_error_of_the_protocol() {
    // DATA before a head, a frame that is longer than allowed, and a body that breaks its announced length.
    let head = [STATUS_200, &[0x0f, 13, 1, b'2']].concat();
    for frames in [
        frame(kind::DATA, 0, 1, b"early"),
        frame(kind::DATA, 0, 1, &vec![0; 20_000]),
        [frame(kind::HEADERS, flag::END_HEADERS, 1, &head), frame(kind::DATA, 1, 1, b"abc")].concat(),
    ] {
        let (_, result) = send_alone(write_frames(1, [&SETTINGS[..], &frames].concat(), false));
        let failure = result.unwrap_err();
        assert!(matches!(failure, Http2Failure::Protocol(_)), "{failure:?}");
    }
}

#[test]
fn interim_responses_padding_continuations_and_trailers_are_not_part_of_a_body() {
    let interim = frame(kind::HEADERS, flag::END_HEADERS, 1, &[0x08, 3, b'1', b'0', b'3']);
    let whole = [
        frame(kind::HEADERS, 0, 1, STATUS_200),
        frame(kind::CONTINUATION, flag::END_HEADERS, 1, &[0, 1, b'a', 1, b'b']),
        frame(kind::DATA, flag::PADDED, 1, b"\x03one\0\0\0"),
        frame(kind::DATA, 0, 1, b"two"),
        frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 1, &[0, 1, b'x', 1, b'y']),
    ];
    let bytes = [SETTINGS.to_vec(), interim.clone(), interim.clone(), whole.concat()].concat();
    let (exchange, result) = send_alone(write_frames(1, bytes, false));
    result.unwrap();
    assert_whole(&exchange);
    assert_eq!(&exchange.raw[..exchange.raw_len], b"HTTP/2 200\r\na: b\r\n\r\nonetwo");
    assert_eq!(exchange.timeline.bytes_received, (2 * interim.len() + whole.concat().len()) as u64);
    // All of it came in one read or two, never in one for each frame.
    assert!(exchange.timeline.reads.len() <= 2, "{:?}", exchange.timeline.reads);
}

#[test]
fn a_read_with_the_head_and_with_frames_of_a_later_stream_is_shared() {
    let whole = |stream: u32, text: &[u8]| {
        let head = frame(kind::HEADERS, flag::END_HEADERS, stream, STATUS_200);
        [head, frame(kind::DATA, flag::END_STREAM, stream, text)].concat()
    };
    let address = write_frames(2, [SETTINGS.to_vec(), whole(1, b"one"), whole(3, b"two")].concat(), false);
    block_on(async {
        let connection = connect(address).await;
        let (mut first, one) = start(&connection, "/", Bytes::from_static(b"{}"), KEPT);
        let (mut second, two) = start(&connection, "/", Bytes::from_static(b"{}"), KEPT);
        one.run(&mut first).await.unwrap();
        two.run(&mut second).await.unwrap();
        let reads = [&first, &second].map(|exchange| exchange.timeline.reads.last().copied().unwrap());
        assert_eq!(reads[0].at, reads[1].at, "all frames came in one read");
        assert_eq!(reads.map(|read| read.is_shared), [true, false]);
    });
}

#[test]
fn an_empty_last_frame_is_the_end() {
    let received = Arc::new(Notify::new());
    let gate = received.clone();
    let address = serve_each(move |(_, reply)| {
        let gate = gate.clone();
        async move {
            let mut stream = respond(reply, 200, false);
            stream.send_data(Bytes::from_static(b"all"), false).unwrap();
            gate.notified().await;
            stream.send_data(Bytes::new(), true).unwrap();
        }
    });
    block_on(async {
        let connection = connect(address).await;
        let (mut exchange, mut running) = start(&connection, "/", Bytes::new(), KEPT);
        while exchange.timeline.body_reads == 0 {
            receive(&mut running, &mut exchange).await.unwrap();
        }
        let before = mono_now();
        received.notify_one();
        while receive(&mut running, &mut exchange).await.unwrap() != Progress::Complete {}
        assert_whole(&exchange);
        assert!(exchange.timeline.end >= before && exchange.timeline.body_start < before);
        assert_eq!((exchange.timeline.body_reads, body::collect(&exchange)), (1, b"all".to_vec()));
    });
}

#[test]
fn a_cancelled_request_leaves_the_others_alone() {
    let (cancelled, seen) = tokio::sync::oneshot::channel();
    let address = serve(server::Builder::new(), |mut connection| async move {
        let mut streams = Vec::new();
        while streams.len() < 2 {
            let (_, reply) = connection.accept().await.unwrap().unwrap();
            let mut stream = respond(reply, 200, false);
            stream.send_data(Bytes::from_static(b"part "), false).unwrap();
            streams.push(stream);
        }
        let driver = spawn_local(async move {
            while let Some(Ok((_, reply))) = connection.accept().await {
                respond(reply, 200, true);
            }
        });
        let reason = poll_fn(|cx| streams[0].poll_reset(cx)).await.unwrap();
        cancelled.send(reason).unwrap();
        streams[1].send_data(Bytes::from_static(b"and the rest"), true).unwrap();
        driver.await.unwrap();
    });
    block_on(async {
        let connection = connect(address).await;
        let (mut dropped, mut running) = start(&connection, "/", Bytes::from_static(b"{}"), KEPT);
        let (mut whole, sibling) = start(&connection, "/", Bytes::from_static(b"{}"), KEPT);
        assert_eq!(connection.open_streams(), 2);
        while dropped.timeline.body_reads == 0 {
            receive(&mut running, &mut dropped).await.unwrap();
        }
        running.close(&mut dropped);
        let t = &dropped.timeline;
        assert!(t.bytes_sent > 0 && t.send_end.0 > 0 && t.bytes_received > 14, "{t:?}");
        assert_eq!((connection.open_streams(), body::collect(&dropped)), (1, b"part ".to_vec()));
        sibling.run(&mut whole).await.unwrap();
        assert_eq!(body::collect(&whole), b"part and the rest");
        assert_eq!(seen.await.unwrap(), Reason::CANCEL);
        assert!(connection.is_usable());
        send(&connection, "/").await.1.unwrap();
    });
}

#[test]
fn a_long_body_goes_up_while_its_response_comes_down() {
    const LEN: usize = 1 << 20;
    let received = Arc::new(Notify::new());
    let gate = received.clone();
    let address = serve_each(move |(request, reply)| {
        let gate = gate.clone();
        async move {
            let mut stream = respond(reply, 200, false);
            stream.send_data(Bytes::from_static(b"early "), false).unwrap();
            // Nothing of the body is taken before the client has the first of the response.
            gate.notified().await;
            let (mut body, mut len) = (request.into_body(), 0);
            while let Some(data) = body.data().await {
                let data = data.unwrap();
                len += data.len();
                body.flow_control().release_capacity(data.len()).unwrap();
            }
            stream.send_data(len.to_string().into(), true).unwrap();
        }
    });
    block_on(async {
        let connection = connect(address).await;
        let (mut exchange, mut running) = start(&connection, "/", vec![b'x'; LEN].into(), KEPT);
        while receive(&mut running, &mut exchange).await.unwrap() == Progress::Received {
            received.notify_one();
        }
        assert_whole(&exchange);
        assert_eq!(body::collect(&exchange), format!("early {LEN}").into_bytes());
        let t = &exchange.timeline;
        let frames = LEN.div_ceil(16 << 10) * 9;
        assert!(t.bytes_sent as usize >= LEN + frames && t.bytes_sent as usize <= LEN + 100 * frames, "{t:?}");
        assert!(t.writes > 10 && t.body_start < t.end, "{t:?}");
    });
}

#[test]
fn a_body_over_the_limit_ends_there_and_its_connection_goes_on() {
    const LEN: usize = 20 << 20;
    const KEPT: usize = 100 << 10;
    let address = serve_each(|(_, reply)| async move {
        respond(reply, 200, false).send_data(vec![b'x'; LEN].into(), true).unwrap();
    });
    block_on(async {
        let connection = connect(address).await;
        let (mut exchange, running) = start(&connection, "/", Bytes::new(), KEPT);
        let failure = running.run(&mut exchange).await.unwrap_err();
        assert!(matches!(failure, Http2Failure::Refused(Failure::TooLarge { limit: KEPT })), "{failure}");
        assert_whole(&exchange);
        let t = &exchange.timeline;
        assert!((t.bytes_received as usize) < LEN, "{t:?}");
        assert!(exchange.raw_len + t.reads.len() * 16 <= KEPT + 16 && exchange.raw_len > KEPT / 2);
        assert!(connection.is_usable());
    });
}

#[test]
fn a_connection_knows_how_many_streams_it_may_carry() {
    let mut settings = server::Builder::new();
    settings.max_concurrent_streams(2);
    let address = serve(settings, |mut connection| async move {
        while let Some(Ok((_, reply))) = connection.accept().await {
            respond(reply, 200, true);
        }
    });
    block_on(async {
        let connection = connect(address).await;
        let opened = connection.last_used();
        send(&connection, "/").await.1.unwrap();
        assert_eq!(connection.free_streams(), 2);
        assert!(connection.last_used() > opened);
        let mut running: Vec<_> = (0..3).map(|_| start(&connection, "/", Bytes::new(), KEPT)).collect();
        assert_eq!((connection.free_streams(), connection.open_streams()), (0, 3));
        // The third waits for its turn.
        for (mut exchange, running) in running.drain(..) {
            running.run(&mut exchange).await.unwrap();
        }
        assert_eq!(connection.free_streams(), 2);
    });
}

#[test]
fn a_body_that_is_dropped_is_counted_whatever_its_length() {
    // Longer than a stream's window: the server waits until the client releases what it has taken.
    const LEN: usize = 30 << 20;
    let address = serve_each(|(_, reply)| async move {
        let mut stream = respond(reply, 200, false);
        for piece in 0..30 {
            stream.send_data(vec![1; LEN / 30].into(), piece == 29).unwrap();
        }
    });
    let (exchange, result) = block_on(async {
        let connection = connect(address).await;
        let head = b"GET / HTTP/1.1\r\nHost: server\r\n\r\n";
        let mut exchange = Exchange { raw: vec![0; 100], ..Exchange::default() };
        let kept = Retention::up_to(1000).dropping_bodies();
        let running = Http2Exchange::start(&connection, head, &Bytes::new().into(), kept).unwrap();
        let result = running.run(&mut exchange).await;
        (exchange, result)
    });
    assert!(result.is_ok() && exchange.timeline.bytes_received > LEN as u64);
    assert_eq!((exchange.raw_len, body::collect(&exchange)), (exchange.body_at, Vec::new()));
    assert!(exchange.timeline.reads.last().unwrap().at <= exchange.timeline.end);
}

/// Notes how much of a body was there at each notification.
#[derive(Default)]
struct Noted(Vec<usize>);

impl Watch for Noted {
    fn read(&mut self, exchange: &Exchange) {
        self.0.push(body::collect(exchange).len());
    }
}

#[test]
fn a_watch_is_notified_of_all_that_comes() {
    let address = serve_each(|(_, reply)| async move {
        let mut stream = respond(reply, 200, false);
        for piece in 0..3 {
            stream.send_data(Bytes::from_static(b"data: x\n\n"), piece == 2).unwrap();
            tokio::task::yield_now().await;
        }
    });
    let socket = SocketOptions {
        recv_buffer: 1 << 16,
        send_buffer: 1 << 16,
        keep_idle: 60,
        keep_interval: 30,
        keep_count: 1,
        user_timeout_ms: 30_000,
    };
    let settings = ClientSettings {
        stamps: StampMode::User,
        connect: ConnectSettings {
            socket,
            resolution: Resolution::default(),
            tls: Default::default(),
            proxies: ProxyChoice::default(),
            outstanding: Outstanding::up_to(1),
        },
        places: None,
        keepalive: Nanos::MAX,
        kept_limit: KEPT,
        budget: None,
        reuse: Reuse::Always,
        protocol: Protocol::Http2,
        detailed: false,
        connect_timeout: None,
        stream_end: StreamEnd::NONE,
    };
    let out = OutgoingRequest {
        tag: Default::default(),
        intended: MonoNs(0),
        issued: MonoNs(0),
        target: 0,
        head: b"POST / HTTP/1.1\r\nHost: server\r\nContent-Length: 2\r\n\r\n".to_vec(),
        body: "{}".into(),
        timeout: None,
        cancelled: None,
        ends_session: true,
    };
    let mut noted = Noted::default();
    let exchange = block_on(async {
        let client = Client::new(settings, vec![Origin::http("127.0.0.1", address.port())], Default::default());
        client.send_watched(out, &Cancel::default(), &mut Redirects::default(), Some(&mut noted)).await
    });
    assert_eq!(exchange.failure, None);
    assert!(noted.0.is_sorted() && noted.0.last() == Some(&27), "{:?}", noted.0);
}
