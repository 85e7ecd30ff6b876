// go-zk's Lock, line by line: the requests are those of tests/support/peer.hpp.
//
//	gozk_peer HOST:PORT[,HOST:PORT...] SESSION_MS
package main

import (
	"bufio"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

var (
	speaking sync.Mutex
	server   *zk.Conn
)

func say(request, answer string) {
	speaking.Lock()
	defer speaking.Unlock()
	fmt.Println(request, answer)
}

func lockOf(name string) *zk.Lock {
	return zk.NewLock(server, "/locks/"+strings.ReplaceAll(name, "/", "%2f"), zk.WorldACL(zk.PermAll))
}

// One goroutine for each thread of the requests.
type worker struct {
	requests chan []string
	held     map[string]*zk.Lock
}

func (w *worker) work() {
	for words := range w.requests {
		answer, err := w.run(words[2], words[4], words[5:])
		if err != nil {
			say(words[0], "failed "+strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			say(words[0], strings.TrimSpace("ok "+answer))
		}
	}
}

func (w *worker) run(verb, name string, arguments []string) (string, error) {
	switch verb {
	case "lock":
		lock := lockOf(name)
		if err := lock.Lock(); err != nil {
			return "", err
		}
		w.held[name] = lock
		return "true", nil
	case "unlock":
		lock := w.held[name]
		if lock == nil {
			return "", errors.New("not held by this thread")
		}
		delete(w.held, name)
		return "", lock.Unlock()
	case "turns":
		return turns(name, arguments)
	}
	return "", errors.New("no verb " + verb)
}

// Goroutines lock and unlock as fast as they can, until the clock shows the second argument in ms.
func turns(name string, arguments []string) (string, error) {
	threads, _ := strconv.Atoi(arguments[0])
	until, _ := strconv.ParseInt(arguments[1], 10, 64)
	counts := make(chan int, threads)
	failures := make(chan error, threads)
	for i := 0; i < threads; i++ {
		go func() {
			n := 0
			defer func() { counts <- n }()
			for time.Now().UnixMilli() < until {
				lock := lockOf(name)
				err := lock.Lock()
				if err == nil {
					err = countIn(name)
				}
				if err == nil {
					err = lock.Unlock()
				}
				if err != nil {
					failures <- err
					return
				}
				n++
			}
		}()
	}
	sum := 0
	for i := 0; i < threads; i++ {
		sum += <-counts
	}
	select {
	case err := <-failures:
		return "", err
	default:
		return strconv.Itoa(sum), nil
	}
}

func countIn(path string) error {
	seen, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(seen))
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600)
}

func main() {
	session, _ := strconv.Atoi(os.Args[2])
	conn, _, err := zk.Connect(strings.Split(os.Args[1], ","), time.Duration(session)*time.Millisecond,
		zk.WithLogger(log.New(os.Stderr, "", 0)))
	if err == nil {
		_, _, err = conn.Exists("/")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server = conn
	say("0", "ok go-zk")
	workers := map[string]*worker{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		w := workers[words[1]]
		if w == nil {
			w = &worker{make(chan []string, 100), map[string]*zk.Lock{}}
			workers[words[1]] = w
			go w.work()
		}
		w.requests <- words
	}
	os.Exit(0) // the test has ended: held locks end with the session, as after a crash
}
