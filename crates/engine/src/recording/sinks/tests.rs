use super::*;
use crate::queue::LONGEST_WAIT;
use crate::testing::Shown;
use aiperf_metrics::StallCause;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Release;
use std::sync::mpsc::Receiver;

struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct NoRecords;

impl RecordEncoder for NoRecords {
    fn encode(&mut self, _: &aiperf_metrics::RecordView<'_>, _: &mut Vec<u8>) {}
}

fn sink(name: &'static str, file: impl Write + Send + 'static) -> RecordSink {
    RecordSink { name, path: name.into(), encoder: Box::new(|| Box::new(NoRecords)), file: Box::new(file), holds: 0 }
}

fn ready(number: u64, bytes: &[&[u8]]) -> Ready {
    let batch = Arc::new(Batch::new(number, Vec::new(), Arc::new([])));
    let encoded = bytes.iter().map(|bytes| Arc::new(bytes.to_vec())).collect();
    Ready {
        batch,
        own: Some(BatchRecords { encoded, failures: Vec::new(), odd_lengths: Vec::new(), values: Vec::new() }),
    }
}

fn open(sinks: Vec<RecordSink>) -> (OrderedSinks, Vec<SinkWriter>) {
    let shelves: Vec<Shelf> = sinks.iter().map(|_| Shelf::default()).collect();
    OrderedSinks::new(sinks, &shelves, Nanos::ZERO, MonoNs(0))
}

fn numbers(batches: &[Ready]) -> Vec<u64> {
    batches.iter().map(|ready| ready.batch.number).collect()
}

fn written(sinks: &mut OrderedSinks) -> usize {
    std::iter::from_fn(|| sinks.take_written()).count()
}

#[test]
fn batches_are_written_in_order_and_given_back_when_they_are() {
    let shown = Shown::default();
    let (mut sinks, mut writers) = open(vec![sink("records", shown.clone())]);
    assert!(sinks.hand_on(ready(1, &[b"b"]), MonoNs(1)).is_empty());
    assert!(sinks.hand_on(ready(2, &[b"c"]), MonoNs(1)).is_empty());
    assert_eq!(numbers(&sinks.hand_on(ready(0, &[b"a"]), MonoNs(1))), [0, 1, 2]);
    assert_eq!(written(&mut sinks), 0, "none is written yet");
    assert_eq!(writers[0].write_some(MonoNs(1)), Wrote::Idle);
    assert_eq!((written(&mut sinks), shown.text()), (3, "abc".to_owned()));
    sinks.close();
    assert!(writers[0].write_some(MonoNs(2)) == Wrote::Over && !sinks.have_ended());
    drop(writers);
    assert!(sinks.have_ended() && sinks.into_reports().0.is_empty());
}

#[test]
fn a_sink_that_fails_is_named_once_and_the_others_go_on() {
    let shown = Shown::default();
    let (mut sinks, mut writers) = open(vec![sink("raw", Full), sink("records", shown.clone())]);
    for number in 0..3 {
        sinks.hand_on(ready(number, &[b"x", b"y"]), MonoNs(1));
        assert!(writers.iter_mut().all(|writer| writer.write_some(MonoNs(number)) == Wrote::Idle));
        assert_eq!(sinks.new_failures().len(), usize::from(number == 0), "reported when it happens, and once");
    }
    assert_eq!((shown.text(), written(&mut sinks)), ("yyy".to_owned(), 3));
    let failed: Vec<&str> = sinks.into_reports().0.iter().map(|failure| failure.sink).collect();
    assert_eq!(failed, ["raw"]);
}

/// Keeps what it is given until its disk has room.
struct Delayed {
    kept: Vec<u8>,
    has_room: Arc<AtomicBool>,
    shown: Shown,
}

impl Write for Delayed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.kept.extend_from_slice(bytes);
        self.flush().map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.has_room.load(Relaxed) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.shown.write_all(&std::mem::take(&mut self.kept))
    }
}

#[test]
fn a_sink_whose_disk_is_full_for_a_moment_loses_nothing() {
    for has_room_again in [true, false] {
        let (shown, has_room) = (Shown::default(), Arc::new(AtomicBool::new(false)));
        let file = Delayed { kept: Vec::new(), has_room: has_room.clone(), shown: shown.clone() };
        let (mut sinks, mut writers) = open(vec![sink("records", file)]);
        for number in 0..3 {
            sinks.hand_on(ready(number, &[b"x"]), MonoNs(1));
            assert_eq!(writers[0].write_some(MonoNs(number)), Wrote::Idle);
            assert_eq!(sinks.new_delays().len(), usize::from(number == 0), "reported when it happens, and once");
            assert!(sinks.new_failures().is_empty());
        }
        assert_eq!((written(&mut sinks), shown.text()), (3, String::new()));
        has_room.store(has_room_again, Relaxed);
        sinks.close();
        assert_eq!(writers[0].write_some(MonoNs(4)), Wrote::Over);
        assert_eq!(shown.text(), if has_room_again { "xxx" } else { "" });
        assert_eq!(sinks.new_failures().len(), usize::from(!has_room_again));
    }
}

/// Blocks in every write until it is let go.
struct Blocked(Receiver<()>);

impl Write for Blocked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.recv().map(|()| bytes.len()).map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_that_blocks_holds_up_no_other_and_is_named_with_the_time_it_took() {
    let (shown, (go, blocked)) = (Shown::default(), mpsc::channel());
    let (mut sinks, writers) = open(vec![sink("raw", Blocked(blocked)), sink("records", shown.clone())]);
    sinks.measure = |_, now| ThreadCounters { at: now, in_writes: Nanos(now.0), ..ThreadCounters::default() };
    assert!(sinks.look_for_stalls(MonoNs(1), false).is_empty());
    let threads: Vec<_> = writers.into_iter().map(|writer| std::thread::spawn(|| writer.run())).collect();
    (0..2).for_each(|number| drop(sinks.hand_on(ready(number, &[b"x", b"y"]), MonoNs(1))));
    let wait_until = |done: &mut dyn FnMut() -> bool| {
        while !done() {
            std::thread::yield_now();
        }
    };
    wait_until(&mut || shown.text() == "yy");
    assert!(sinks.take_written().is_none(), "not all sinks have it");
    let at = |nanos: u64| MonoNs(1 + nanos);
    assert!(sinks.look_for_stalls(at(LONGEST_WAIT.0), false).is_empty(), "it may yet be in time");
    let five = Nanos(5_000_000_000);
    let [(path, StallNews::Began(waited, times))] = sinks.look_for_stalls(at(five.0), false)[..] else {
        panic!("it began")
    };
    assert_eq!((path, waited, times.cause()), (Path::new("raw"), five, StallCause::Writes));
    assert!(sinks.look_for_stalls(at(five.0), false).is_empty(), "reported once");
    (0..2).for_each(|_| go.send(()).unwrap());
    wait_until(&mut || sinks.sinks[0].state.written.load(Acquire) == 2);
    assert_eq!(sinks.look_for_stalls(at(five.0), true), [(Path::new("raw"), StallNews::Ended(five))]);
    assert_eq!(written(&mut sinks), 2);
    sinks.close();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let (failures, stalls) = sinks.into_reports();
    let times = stalls[0].times;
    let stall = SinkStall { count: 1, total: five, longest: five, times, ..SinkStall::none("raw".into()) };
    assert!(failures.is_empty() && stalls == [stall], "{stalls:?}");
    assert_eq!(times.cause(), StallCause::Writes);
}

#[test]
fn a_sink_whose_writes_end_is_named_too_when_its_oldest_record_waits_for_too_long() {
    let tenths = |tenths: u64| MonoNs(tenths * 100_000_000);
    let (mut sinks, mut writers) = open(vec![sink("slow", io::sink()), sink("fast", io::sink())]);
    // Its thread never gets a core, and its writes last as long.
    sinks.measure = |_, now| ThreadCounters {
        at: now,
        in_writes: Nanos(now.0),
        core_wait: Nanos(now.0),
        ..ThreadCounters::default()
    };
    // A batch each tenth of a second, of which the slow one writes every third in time.
    for number in 0..20 {
        sinks.hand_on(ready(number, &[b"x", b"y"]), tenths(number));
        writers[1].write_some(tenths(number));
        sinks.sinks[0].state.written.store(number / 3, Release);
        let news = sinks.look_for_stalls(tenths(number), number > 11);
        let began = news.iter().map(|(path, news)| match news {
            StallNews::Began(waited, times) => (*path, *waited, times.cause()),
            StallNews::Ended(_) => panic!("it goes on"),
        });
        let wanted = [(Path::new("slow"), Nanos(800_000_000), StallCause::NoCore)];
        assert_eq!(began.collect::<Vec<_>>(), if number == 11 { &wanted[..] } else { &[] }, "{number}");
        written(&mut sinks);
    }
    sinks.sinks[0].state.written.store(20, Release);
    let ended = StallNews::Ended(Nanos(1_700_000_000));
    assert_eq!(sinks.look_for_stalls(tenths(20), false), [(Path::new("slow"), ended)]);
    let (_, stalls) = sinks.into_reports();
    assert!(stalls.len() == 1 && stalls[0].held_sending, "{stalls:?}");
    assert_eq!(stalls[0].times.cause(), StallCause::NoCore);
}

#[test]
fn threads_of_writers_differ_in_the_part_of_their_names_that_is_kept() {
    let names = ["records", "records_parquet", "raw", "outputs"];
    let (_, writers) = open(names.map(|name| sink(name, io::sink())).into());
    let names: Vec<String> = writers.iter().map(SinkWriter::thread_name).collect();
    assert_eq!(names, ["sink-records", "sink-parquet", "sink-raw", "sink-outputs"]);
    assert!(names.iter().all(|name| name.len() <= 15));
}

#[test]
fn a_writer_is_woken_when_nothing_more_comes() {
    let (mut sinks, writers) = open(vec![sink("records", Shown::default())]);
    let threads: Vec<_> = writers.into_iter().map(|writer| std::thread::spawn(|| writer.run())).collect();
    while sinks.sinks[0].state.thread.get().is_none() {
        std::thread::yield_now();
    }
    sinks.close();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(sinks.have_ended());
}

#[test]
fn a_sink_that_breaks_down_is_a_failure_and_nobody_waits_for_it() {
    struct Broken;

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            panic!("as the test wants it");
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let (mut sinks, writers) = open(vec![sink("raw", Broken)]);
    sinks.hand_on(ready(0, &[b"x"]), MonoNs(1));
    let threads: Vec<_> = writers.into_iter().map(|writer| std::thread::spawn(|| writer.run())).collect();
    assert!(threads.into_iter().all(|thread| thread.join().is_err()));
    assert_eq!((written(&mut sinks), sinks.have_ended(), sinks.new_failures().len()), (1, true, 1));
}
