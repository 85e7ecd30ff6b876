/* The native mutex: the key of a lock, the queue of its waiters, and the hand-off from a holder to the first of them.

   Time is a set of countdown timers that one tick of the world decrements, so the states are finite although a run has
   no end. Between two ticks any number of steps may happen, in any order, or none: a client that takes no step is a
   client that was stopped, and a request or message that takes none is one that is delayed. There are two clients.

   tools/check_models lists the runs. By -D:
     L, G, GAP     the lease; the lease of a grant that a message announces; the pause between two polls, in ticks
     FAULTS        how many times a message, request or reply is lost, a client cuts its connection, or (KILL) is killed
     STRONG        checks also that a holder's token stays in the key for as long as the holder believes
     ORDER         checks also that only an expired lease lets a client pass those in the queue
     REVIVED       checks also that no answer revives a lease although another client had the lock in between
     SERVED        checks that each waiter is served in time once the faults are over (calm), with any clients frozen;
                   UNSERVED=k lets each frozen client cost k grants
     M_...         mutants: one rule is broken, and a check must notice it. Each stands where its rule is */
#define NC 2
#ifndef L
#define L 3
#endif
#ifndef G
#define G 2
#endif
#ifndef GAP
#define GAP 1
#endif
#ifndef FAULTS
#define FAULTS 0
#endif
#define LONGEST_QUEUE (2 * NC)
/* Each attempt has an owner token of its own. Two for each client are enough, since a client takes one again only when
   no trace of it is left. */
#define TOKEN(c) (1 + 2 * (c) + serial[c])
#define OTHER_TOKEN(c) (2 + 2 * (c) - serial[c])
#define CLIENT(token) (((token) - 1) / 2)

/* requests */
#define TRY 1    /* SET NX PX */
#define BID 2    /* take the lock if nobody is before me, else wait in the queue */
#define LEAVE 3  /* give the lock or the place in the queue up, and pass the lock on */
#define RENEW 4
/* replies */
#define GRANTED 1
#define STILL_GRANTED 2  /* to a TRY whose token was in the key already */
#define NOT_YET 3
#define DONE 4
#define NOT_OWNER 5
/* states of a client */
#define IDLE 0
#define TRYING 1
#define WAITING 2
#define HOLDING 3
#define LEAVING 4

/* the server */
byte owner, ttl, queued, queue[LONGEST_QUEUE];
bit expired;  /* the key went away by expiry, and nobody has set it since */
/* the clients */
byte state[NC], serial[NC], deadline[NC];
byte grant_left[NC];  /* how long a message may still announce a grant: counted from a bid that was answered */
byte lease_left[NC];  /* what is left of the lease of a try, counted from its first request */
bit dead[NC], broken[NC];  /* broken: another client had the lock since this one was granted it */
/* the network: a request and its reply, with what is left of the lease and of the grant that it asked for; an older
   request that may still arrive; a message that announces a grant */
byte request[NC], reply[NC], asked_lease[NC], asked_grant[NC], stray[NC], stray_token[NC], message[NC];
bit old_message[NC];  /* the message was there before the bid that was answered, so its queue score is another */

byte faults = FAULTS;
byte result, head, i, j;

#ifdef SERVED
bit calm, frozen[NC];
byte pause[NC], waited, bound;
#define TROUBLE (!calm)
#define ACTS(c) (!(calm && frozen[c]))
#define PAUSED(c) (calm && pause[c] > 0)
#define POLLS_LATER(c) pause[c] = GAP
#else
#define TROUBLE 1
#define ACTS(c) 1
#define PAUSED(c) 0
#define POLLS_LATER(c) skip
#endif
#define FAULT (TROUBLE && faults > 0)

#define VALID(c) (state[c] == HOLDING && deadline[c] > 0)

inline check() {
  assert(!(VALID(0) && VALID(1)));
#ifdef STRONG
  i = 0;
  do :: i < NC -> assert(!VALID(i) || (owner == TOKEN(i) && ttl >= deadline[i])); i++ :: else -> break od;
  i = 0
#endif
}

/* ---- the server's scripts: each runs as one step ---- */

inline set_owner(token, time) {
  owner = token; ttl = time; expired = 0;
  i = 0;
  do
  :: i < NC -> if :: state[i] == HOLDING && TOKEN(i) != token -> broken[i] = 1 :: else fi; i++
  :: else -> break
  od;
  i = 0
}

inline drop_from_queue(token) {
  i = 0; j = 0;
  do
  :: i < queued -> if :: queue[i] != token -> queue[j] = queue[i]; j++ :: else fi; i++
  :: else -> break
  od;
  i = j;
  do :: i < queued -> queue[i] = 0; i++ :: else -> break od;
  queued = j; i = 0; j = 0
}

inline add_to_queue(token) {
  i = 0; j = 0;
  do :: i < queued -> if :: queue[i] == token -> j = 1 :: else fi; i++ :: else -> break od;
  if :: j == 0 -> queue[queued] = token; queued++ :: else fi;
  i = 0; j = 0
}

/* Gives the lock to the first in the queue whose channel has a subscriber; `self` needs no message. */
inline pass_on(self) {
  owner = 0; ttl = 0;
  do
  :: owner != 0 || queued == 0 -> break
  :: else ->
     head = queue[0];
     drop_from_queue(head);
     if
     :: head == self -> set_owner(head, L); result = GRANTED
     :: head != self && !dead[CLIENT(head)] -> set_owner(head, G); message[CLIENT(head)] = head; old_message[CLIENT(head)] = 0
     :: else
     fi
  od;
  head = 0
}

inline execute(kind, token) {
  if
  :: kind == TRY ->
     if
     :: owner == 0 ->
#ifdef ORDER
        assert(queued == 0 || expired);
#endif
        set_owner(token, L); result = GRANTED
     :: owner == token -> result = STILL_GRANTED
     :: else -> result = NOT_YET
     fi
  :: kind == BID ->
     if
     :: owner == token ->
        /* A bid of the waiter may arrive behind its claim, and must not shorten the lease that the claim made. */
#ifdef M_SHORTENS
        ttl = L;
#else
        ttl = (ttl < L -> L : ttl);
#endif
        drop_from_queue(token); result = GRANTED
     :: owner == 0 ->
        result = NOT_YET;
#ifdef M_BID_PASSES_QUEUE
        assert(queued == 0 || queue[0] == token || dead[CLIENT(queue[0])]);
        set_owner(token, L); drop_from_queue(token); result = GRANTED
#else
        add_to_queue(token); pass_on(token)
#endif
     :: else -> add_to_queue(token); result = NOT_YET
     fi
  :: kind == LEAVE ->
     drop_from_queue(token); result = DONE;
#ifdef M_NO_COMPARE
     pass_on(0)
#else
     if :: owner == token -> pass_on(0) :: else fi
#endif
  :: kind == RENEW ->
     if :: owner == token -> ttl = (ttl < L -> L : ttl); result = GRANTED :: else -> result = NOT_OWNER fi
  fi
}

/* ---- the client ---- */

inline send(c, kind) {
  request[c] = kind;
  asked_lease[c] = (kind == LEAVE -> 0 : L);
  asked_grant[c] = (kind == BID -> G : 0);
  reply[c] = 0; old_message[c] = 0
}

inline forget_reply(c) { reply[c] = 0; asked_lease[c] = 0; asked_grant[c] = 0; old_message[c] = 0 }

inline become_idle(c) {
  state[c] = IDLE; deadline[c] = 0; grant_left[c] = 0; lease_left[c] = 0; request[c] = 0; broken[c] = 0;
  forget_reply(c)
}

/* A request that the client no longer waits for: it may be executed before or behind the next one. */
inline abandon_request(c) {
  if :: stray[c] == 0 && request[c] != 0 -> stray[c] = request[c]; stray_token[c] = TOKEN(c) :: else fi
}

inline leave(c) {
  abandon_request(c);
  send(c, LEAVE);
  state[c] = LEAVING; deadline[c] = 0; grant_left[c] = 0; lease_left[c] = 0; broken[c] = 0
}

#define AT_PLACE(n, t) (queued > n && queue[n] == t)
#define IN_QUEUE(t) (AT_PLACE(0, t) || AT_PLACE(1, t) || AT_PLACE(2, t) || AT_PLACE(3, t))
#define NO_TRACE_OF(c, t) (owner != t && !IN_QUEUE(t) && stray_token[c] != t && message[c] != t)
#define NOTHING_UNDER_WAY(c) (request[c] == 0 && reply[c] == 0)
#define UNWANTED(c) (state[c] != WAITING || message[c] != TOKEN(c))

proctype client(byte c) {
  do
  /* a new attempt */
  :: atomic { TROUBLE && state[c] == IDLE && !dead[c] && NO_TRACE_OF(c, OTHER_TOKEN(c)) ->
       serial[c] = 1 - serial[c]; state[c] = TRYING; send(c, TRY); lease_left[c] = L }

  /* the server executes a request; the reply is under way */
  :: atomic { request[c] != 0 ->
       execute(request[c], TOKEN(c));
       reply[c] = result;
       old_message[c] = (result == NOT_YET && request[c] == BID && message[c] == TOKEN(c));
       request[c] = 0;
       if :: result != GRANTED && result != STILL_GRANTED -> asked_lease[c] = 0 :: else fi;
       if :: result != NOT_YET -> asked_grant[c] = 0 :: else fi;
       result = 0;
       if :: dead[c] -> forget_reply(c) :: else fi;
       check() }
  :: atomic { stray[c] != 0 -> execute(stray[c], stray_token[c]); stray[c] = 0; stray_token[c] = 0; result = 0; check() }

  /* faults: what is lost is either not executed at all, or executed late, or its reply is lost. The client then sends
     the same request again, on another connection, or gives up. */
  :: atomic { TROUBLE && stray[c] != 0 -> stray[c] = 0; stray_token[c] = 0 }
  :: atomic { FAULT && message[c] != 0 -> faults--; message[c] = 0 }
  :: atomic { FAULT && !dead[c] && !NOTHING_UNDER_WAY(c) && state[c] != LEAVING ->
       faults--;
       if :: stray[c] == 0 -> abandon_request(c) :: skip fi;
       if
       :: state[c] == TRYING -> send(c, TRY)
       :: state[c] == WAITING -> send(c, BID); POLLS_LATER(c)
       :: state[c] == HOLDING && deadline[c] > 0 -> send(c, RENEW)
       fi }
  :: atomic { FAULT && !dead[c] && !NOTHING_UNDER_WAY(c) && state[c] == LEAVING ->
       faults--; abandon_request(c); if :: send(c, LEAVE) :: become_idle(c) fi }
  :: atomic { FAULT && !dead[c] && !NOTHING_UNDER_WAY(c) && state[c] != LEAVING && state[c] != IDLE -> faults--; leave(c) }
#ifdef KILL
  :: atomic { FAULT && !dead[c] -> faults--; abandon_request(c); become_idle(c); dead[c] = 1; message[c] = 0 }
#endif

  /* replies */
  :: atomic { ACTS(c) && reply[c] != 0 && state[c] == TRYING ->
       if
       :: reply[c] == NOT_YET -> state[c] = WAITING; send(c, BID); lease_left[c] = 0; POLLS_LATER(c)
       :: reply[c] == GRANTED || reply[c] == STILL_GRANTED ->
          /* The lease began with the first request of the token, not with the one that was answered. */
#ifndef M_LEASE_FROM_RETRY
          if :: reply[c] == STILL_GRANTED -> asked_lease[c] = lease_left[c] :: else fi;
#endif
          if
          :: asked_lease[c] > 0 ->
             state[c] = HOLDING; deadline[c] = asked_lease[c]; forget_reply(c); lease_left[c] = 0; broken[c] = 0; check()
          :: else -> leave(c)
          fi
       fi }
  :: atomic { ACTS(c) && reply[c] != 0 && state[c] == WAITING ->
       if
       :: reply[c] == NOT_YET ->
          grant_left[c] = asked_grant[c];
          /* A message from before this answer is of an older grant, which may be over. Its queue score shows it. */
#ifndef M_OLD_MESSAGES_COUNT
          if :: old_message[c] && message[c] == TOKEN(c) -> message[c] = 0 :: else fi;
#endif
          forget_reply(c)
       :: reply[c] == GRANTED ->
          if
          :: asked_lease[c] > 0 ->
             state[c] = HOLDING; deadline[c] = asked_lease[c]; grant_left[c] = 0; forget_reply(c); broken[c] = 0; check()
          :: else -> send(c, BID); POLLS_LATER(c)
          fi
       fi }
  :: atomic { ACTS(c) && reply[c] != 0 && state[c] == HOLDING ->
       if
       :: reply[c] == GRANTED ->
          if
#ifdef M_REVIVES
          :: 0 -> skip
#else
          :: deadline[c] == 0 -> leave(c)
#endif
          :: else ->
#ifdef REVIVED
             assert(!(broken[c] && asked_lease[c] > 0));
#endif
             deadline[c] = (asked_lease[c] > deadline[c] -> asked_lease[c] : deadline[c]);
             forget_reply(c); broken[c] = 0; check()
          fi
       :: reply[c] == NOT_OWNER -> leave(c)
       :: reply[c] == NOT_YET -> forget_reply(c)
       fi }
  :: atomic { ACTS(c) && reply[c] != 0 && state[c] == LEAVING -> become_idle(c) }

  /* a message announces a grant: left if nobody wants it, unless it is of the token that is held or tried for now */
  :: atomic { ACTS(c) && message[c] != 0 && !dead[c] && UNWANTED(c) && (stray[c] == 0 || (state[c] == HOLDING && message[c] == TOKEN(c))) ->
#ifdef M_LEAVES_HELD
       stray[c] = LEAVE; stray_token[c] = message[c];
#else
       if
       :: (state[c] == HOLDING || state[c] == TRYING) && message[c] == TOKEN(c) -> skip
       :: else -> stray[c] = LEAVE; stray_token[c] = message[c]
       fi;
#endif
       message[c] = 0 }
  :: atomic { ACTS(c) && message[c] == TOKEN(c) && state[c] == WAITING && !dead[c] ->
       /* The grant began after the bid that was answered "not yet", so it counts from that bid: the message may be late. */
#ifdef M_GRANT_FROM_RECEIPT
       grant_left[c] = G;
#endif
       message[c] = 0;
       if
       :: grant_left[c] > 0 ->
          state[c] = HOLDING; deadline[c] = grant_left[c]; grant_left[c] = 0; broken[c] = 0; check();
          if :: NOTHING_UNDER_WAY(c) -> send(c, RENEW) :: else fi
       :: else -> if :: NOTHING_UNDER_WAY(c) -> send(c, BID); POLLS_LATER(c) :: else fi
       fi }

  /* polls, renews, releases, gives up */
#ifndef M_NO_POLL
  :: atomic { ACTS(c) && state[c] == WAITING && NOTHING_UNDER_WAY(c) && !dead[c] && !PAUSED(c) -> send(c, BID); POLLS_LATER(c) }
#endif
#ifndef NO_RENEWAL
  :: atomic { TROUBLE && state[c] == HOLDING && deadline[c] > 0 && NOTHING_UNDER_WAY(c) && !dead[c] -> send(c, RENEW) }
#endif
  :: atomic { ACTS(c) && state[c] == HOLDING && !dead[c] && NOTHING_UNDER_WAY(c) -> leave(c) }
  :: atomic { TROUBLE && (state[c] == TRYING || state[c] == WAITING) && !dead[c] && NOTHING_UNDER_WAY(c) -> leave(c) }
  od
}

#ifdef SERVED
/* Live clients do at once what they can do, so time passes only when nothing but waiting is left. */
#ifdef M_NO_POLL
#define WAITS_FOR_TIME(c) 1
#else
#define WAITS_FOR_TIME(c) (pause[c] > 0)
#endif
#define ONLY_WAITS(c) (state[c] == IDLE || (state[c] == WAITING && WAITS_FOR_TIME(c)))
#define NOTHING_TO_DO(c) (!ACTS(c) || dead[c] || (reply[c] == 0 && message[c] == 0 && ONLY_WAITS(c)))
#define QUIET(c) (stray[c] == 0 && request[c] == 0 && NOTHING_TO_DO(c))
#define WAITS(c) (state[c] == WAITING && !dead[c] && !frozen[c])
#endif

#define TICK(timer) if :: timer > 0 -> timer-- :: else fi

proctype world() {
  do
  :: atomic {
#ifdef SERVED
       (!calm || (QUIET(0) && QUIET(1)));
#endif
       d_step {
         if :: ttl > 0 -> ttl--; if :: ttl == 0 -> owner = 0; expired = 1 :: else fi :: else fi;
         i = 0;
         do
         :: i < NC ->
            TICK(deadline[i]); TICK(asked_lease[i]); TICK(asked_grant[i]); TICK(grant_left[i]); TICK(lease_left[i]);
#ifdef SERVED
            TICK(pause[i]);
#endif
            i++
         :: else -> break
         od;
         i = 0;
#ifdef SERVED
         if
         :: calm ->
            if :: WAITS(0) || WAITS(1) -> waited++ :: else -> waited = 0 fi;
            assert(waited <= bound)
         :: else
         fi
#endif
       } }
#ifdef SERVED
  /* The faults are over. Any clients are frozen from now on: each costs those behind it one grant, twice polled for. */
  :: atomic { !calm ->
       calm = 1;
       bound = L + GAP;
       i = 0;
       do
       :: i < NC -> if :: frozen[i] = 0 :: frozen[i] = 1; bound = bound + UNSERVED * (G + GAP) fi; i++
       :: else -> break
       od;
       i = 0 }
#endif
  od
}

init { atomic { run client(0); run client(1); run world() } }
