// redsync's Mutex, line by line: the requests are those of tests/support/peer.hpp.
//
//	redsync_peer HOST:PORT...
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	redis "github.com/gomodule/redigo/redis"
)

var (
	speaking sync.Mutex
	locks    *redsync.Redsync
)

func say(request, answer string) {
	speaking.Lock()
	defer speaking.Unlock()
	fmt.Println(request, answer)
}

// One goroutine for each thread of the requests.
type worker struct {
	requests chan []string
	held     map[string]*redsync.Mutex
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

func milliseconds(arguments []string, i int) time.Duration {
	if i >= len(arguments) {
		return 0
	}
	n, _ := strconv.ParseInt(arguments[i], 10, 64)
	return time.Duration(n) * time.Millisecond
}

func (w *worker) run(verb, name string, arguments []string) (string, error) {
	switch verb {
	case "lock":
		return w.lock(name, time.Hour, milliseconds(arguments, 0))
	case "try":
		return w.lock(name, milliseconds(arguments, 0), milliseconds(arguments, 1))
	case "pairs", "turns":
		return measure(verb, name, arguments)
	}
	mutex := w.held[name]
	if mutex == nil {
		return "", errors.New("not held by this thread")
	}
	switch verb {
	case "unlock":
		ok, err := mutex.Unlock()
		if err == nil && !ok {
			err = errors.New("the lock was lost")
		}
		return "", err
	case "extend":
		ok, err := mutex.Extend()
		if err == nil && !ok {
			err = errors.New("the lock was lost")
		}
		return "", err
	case "owner":
		return mutex.Value(), nil
	}
	return "", errors.New("no verb " + verb)
}

func (w *worker) lock(name string, wait, lease time.Duration) (string, error) {
	if lease == 0 {
		lease = 30 * time.Second
	}
	mutex := locks.NewMutex(name, redsync.WithExpiry(lease), redsync.WithTries(1<<30))
	var err error
	if wait == 0 {
		err = mutex.TryLock()
	} else {
		within, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		err = mutex.LockContext(within)
	}
	var taken *redsync.ErrTaken
	switch {
	case err == nil:
		w.held[name] = mutex
		return "true", nil
	case errors.As(err, &taken), errors.Is(err, redsync.ErrFailed), errors.Is(err, context.DeadlineExceeded):
		return "false", nil
	}
	return "", err
}

// Goroutines lock and unlock as fast as they can, until the clock shows the second argument in ms.
func measure(verb, name string, arguments []string) (string, error) {
	threads, _ := strconv.Atoi(arguments[0])
	until, _ := strconv.ParseInt(arguments[1], 10, 64)
	counts := make(chan int, threads)
	failures := make(chan error, threads)
	for i := 0; i < threads; i++ {
		own := name
		if verb == "pairs" {
			own = fmt.Sprint(name, ":", i)
		}
		go func() {
			n := 0
			defer func() { counts <- n }()
			mutex := locks.NewMutex(own, redsync.WithExpiry(30*time.Second), redsync.WithTries(1<<30))
			for time.Now().UnixMilli() < until {
				err := mutex.Lock()
				if err == nil && verb == "turns" {
					err = countIn(name)
				}
				if err == nil {
					_, err = mutex.Unlock()
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
	var pools []redsyncredis.Pool
	for _, address := range os.Args[1:] {
		address := address // a new variable for each iteration, in every version of Go
		pools = append(pools, redigo.NewPool(&redis.Pool{
			MaxIdle: 64,
			DialContext: func(ctx context.Context) (redis.Conn, error) {
				return redis.DialContext(ctx, "tcp", address)
			},
		}))
	}
	locks = redsync.New(pools...)
	say("0", "ok redsync")
	workers := map[string]*worker{}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		w := workers[words[1]]
		if w == nil {
			w = &worker{make(chan []string, 16), map[string]*redsync.Mutex{}}
			workers[words[1]] = w
			go w.work()
		}
		w.requests <- words
	}
}
