/* SPDX-License-Identifier: Apache-2.0 */
// What bench/tasks does, by etcd's own client for Go: the same options, the same JSON. A task is
// a goroutine with a concurrency.Mutex. Tasks that share a path have a concurrency.Session each,
// because the key of a mutex has the name of its session's lease.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
	"golang.org/x/sys/unix"
)

const (
	leaseSeconds = 60
	firstCycles  = 30 * time.Second
)

var (
	hosts       = flag.String("hosts", "", "host:port, with commas")
	base        = flag.String("path", fmt.Sprintf("/etcd-tasks/%d", os.Getpid()), "of the locks")
	journalName = flag.String("journal", "", "a file for the holds")
	tasks       = flag.Int("tasks", 16, "at the same time")
	paths       = flag.Int("paths", 1, "task i is at number i modulo paths")
	sessions    = flag.Int("sessions", 1, "clients, each with a connection")
	holdMs      = flag.Int("hold", 0, "of each acquire")
	warmMs      = flag.Int("warm", 1000, "before the measuring")
	windowMs    = flag.Int("window", 2000, "of measuring")

	measuring, ending, cycled      atomic.Bool
	overlaps, outOfOrder, failures atomic.Int64
)

// What must not be seen at one path. Of an acquire, etcd tells the revision of its store at which
// the lock was free: it grows from each grant to the next one, so it is the token.
type exclusion struct {
	guard   sync.Mutex
	holders int
	last    int64
}

func (e *exclusion) enter(revision int64) {
	e.guard.Lock()
	defer e.guard.Unlock()
	if e.holders > 0 {
		overlaps.Add(1)
	}
	if revision <= e.last {
		outOfOrder.Add(1)
	}
	e.last = revision
	e.holders++
}

func (e *exclusion) leave() {
	e.guard.Lock()
	defer e.guard.Unlock()
	e.holders--
}

// The holds, a line each, as all programs here write them.
type journal struct {
	guard sync.Mutex
	file  *os.File
	lines *bufio.Writer
}

func (j *journal) add(holder int, token, granted, released int64) {
	if j.file == nil {
		return
	}
	j.guard.Lock()
	defer j.guard.Unlock()
	fmt.Fprintln(j.lines, holder, token, granted, released)
}

func (j *journal) open(name string) {
	var err error
	if j.file, err = os.Create(name); err != nil {
		fail(err)
	}
	j.lines = bufio.NewWriter(j.file)
}

func (j *journal) close() {
	if j.file != nil {
		j.lines.Flush()
		j.file.Close()
	}
}

var holds journal

// CLOCK_MONOTONIC, which all processes share.
func monotonic() int64 {
	var moment unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &moment); err != nil {
		fail(err)
	}
	return moment.Nano()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "etcd_tasks:", err)
	os.Exit(1)
}

type task struct {
	number           int
	mutex            *concurrency.Mutex
	seen             *exclusion
	acquires, cycles []int64
	first            chan struct{} // closed after a cycle: with many tasks that takes a while
}

func (t *task) once() error {
	asked := monotonic()
	if err := t.mutex.Lock(context.Background()); err != nil {
		return err
	}
	granted := monotonic()
	token := t.mutex.Header().Revision
	t.seen.enter(token)
	if measuring.Load() {
		t.acquires = append(t.acquires, granted-asked)
	}
	if *holdMs > 0 {
		time.Sleep(time.Duration(*holdMs) * time.Millisecond)
	}
	t.seen.leave()
	released := monotonic()
	if err := t.mutex.Unlock(context.Background()); err != nil {
		return err
	}
	holds.add(t.number, token, granted, released)
	if measuring.Load() {
		t.cycles = append(t.cycles, monotonic()-asked)
		cycled.Store(true)
	}
	return nil
}

func (t *task) run() {
	for first := true; !ending.Load(); first = false {
		if err := t.once(); err != nil {
			failures.Add(1)
			fmt.Fprintln(os.Stderr, "etcd_tasks:", err)
			return
		}
		if first {
			close(t.first)
		}
	}
}

func connect() []*clientv3.Client {
	var clients []*clientv3.Client
	for s := 0; s < *sessions; s++ {
		client, err := clientv3.New(clientv3.Config{
			Endpoints:   strings.Split(*hosts, ","),
			DialTimeout: 15 * time.Second,
		})
		if err != nil {
			fail(err)
		}
		clients = append(clients, client)
	}
	return clients
}

func session(client *clientv3.Client) *concurrency.Session {
	made, err := concurrency.NewSession(client, concurrency.WithTTL(leaseSeconds))
	if err != nil {
		fail(err)
	}
	return made
}

func makeTasks(clients []*clientv3.Client) []*task {
	var shared *concurrency.Session
	if *tasks == *paths {
		shared = session(clients[0])
	}
	seen := make([]exclusion, *paths)
	var made []*task
	for i := 0; i < *tasks; i++ {
		place := i % *paths
		its := shared
		if its == nil {
			its = session(clients[(place + i / *paths)%len(clients)])
		}
		mutex := concurrency.NewMutex(its, fmt.Sprintf("%s/%d", *base, place))
		made = append(made, &task{number: i, mutex: mutex, seen: &seen[place],
			first: make(chan struct{})})
	}
	return made
}

func percentiles(what string, samples []int64) string {
	sort.Slice(samples, func(a, b int) bool { return samples[a] < samples[b] })
	told := ""
	for _, part := range []struct {
		name string
		of   float64
	}{{"p50", 0.5}, {"p99", 0.99}, {"p999", 0.999}} {
		value := 0.0
		if len(samples) > 0 {
			value = float64(samples[int(part.of*float64(len(samples)-1))]) / 1000
		}
		told += fmt.Sprintf("\"%s_%s_us\":%.1f,", what, part.name, value)
	}
	return told
}

// Whether all was right.
func measure(all []*task) bool {
	var running sync.WaitGroup
	for _, t := range all {
		running.Add(1)
		go func(t *task) {
			defer running.Done()
			t.run()
		}(t)
	}
	time.Sleep(time.Duration(*warmMs) * time.Millisecond)
	late := time.After(firstCycles)
	for _, t := range all {
		select {
		case <-t.first:
		case <-late:
		}
	}
	fmt.Println("{\"window\":\"begins\"}")
	began := time.Now()
	measuring.Store(true)
	for {
		time.Sleep(time.Duration(*windowMs) * time.Millisecond)
		if cycled.Load() || failures.Load() > 0 {
			break
		}
	}
	measuring.Store(false)
	seconds := time.Since(began).Seconds()
	fmt.Println("{\"window\":\"ends\"}")
	ending.Store(true)
	running.Wait()
	var acquires, cycles []int64
	for _, t := range all {
		acquires = append(acquires, t.acquires...)
		cycles = append(cycles, t.cycles...)
	}
	right := len(cycles) > 0 && overlaps.Load()+outOfOrder.Load()+failures.Load() == 0
	fmt.Printf("{\"program\":\"etcd\",\"seconds\":%.3f,\"cycles\":%d,\"cycles_per_s\":%.1f,%s%s"+
		"\"overlaps\":%d,\"out_of_order\":%d,\"failures\":%d,\"right\":%t}\n", seconds, len(cycles),
		float64(len(cycles))/seconds, percentiles("acquire", acquires),
		percentiles("cycle", cycles), overlaps.Load(), outOfOrder.Load(), failures.Load(), right)
	return right
}

func main() {
	flag.String("recipe", "mutex", "there is no other")
	flag.Parse()
	if *journalName != "" {
		holds.open(*journalName)
	}
	clients := connect()
	right := measure(makeTasks(clients))
	holds.close()
	for _, client := range clients {
		client.Close()
	}
	if !right {
		os.Exit(1)
	}
}
