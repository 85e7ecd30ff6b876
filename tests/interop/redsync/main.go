// redsync's Mutex, line by line: the requests are those of tests/interop/peer.hpp.
//
//	redsync_peer HOST:PORT
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

func main() {
	pool := &redis.Pool{
		MaxIdle: 4,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", os.Args[1])
		},
	}
	locks = redsync.New(redigo.NewPool(pool))
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
