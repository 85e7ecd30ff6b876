/* A store made of two stores, R and F: clients lock a name in R, in both, or in F, as the mode says, and the mode changes
   while they do. No two clients may believe in one lock, and fences must grow from grant to grant.

   An arbiter keeps the mode. It goes R, both, F, both, R: one step at a time, and both are needed for at least D. That D is
   kept by proposers who restart and lose replies, or make that mode stay, is shown in mode_steps.pml; here the arbiter
   changes at any moment that this leaves: a mode that stays is one that is left long after D, and what follows may follow
   at once. Each client has a mode lease: the mode, and a bound up to which it counts on it. Nobody holds a lock beyond the
   bound. So when both have been needed for D, all clients know it, and a store that is left was shared by all.

   Time is a set of countdown timers that one tick decrements, so the states are finite although a run has no end. Between
   two ticks any number of steps may happen, in any order, or none. So a client that takes no step is one that was
   stopped, and a request or reply that takes none is one that is delayed. The rates of all clocks are the same: D, L and
   ML stand for times with the drift added or taken away.

   When a client ends a lease, each store frees its owner token at once. In truth a store keeps it until a release arrives
   or the lease is over. It only refuses others meanwhile, and a client that is refused does what a client may do here
   at any time: nothing. ORPHANS shows the same without this argument.

   tools/check_models lists the runs. By -D:
     CLIENTS       how many compete for a lock
     TWO_LOCKS     client 0 competes for another lock, too, so two leases share its bound
     ML, L         the mode lease and the lease of a lock, in ticks
     S             how far the clock of one store may be ahead of the other's; used with FENCES
     D, Q          how long a mode with both stores lasts at least, and the quarantine of a store that restarted empty
     ALONE_LASTS   a mode with one store lasts as long, too
     IN_FLIGHT     requests are under way before they are executed. Without it only replies are: a request is
                   executed when it is sent. That finds the same for deadlines, since a lease that the store counts from
                   later ends later there, and at the same time for the client.
     LOSS          1: R may restart empty; 2: F, too
     ORPHANS       a release reaches both stores, one or none; the others keep the token until its lease is over
     FENCES        stores give fences by their clocks, and the property of fences is checked
     ORDER         checks that a holder is never refused the second store by a client that came later; with ALONE_LASTS
     SEEN          fails if a lease lives through all modes and into the second one again, to show that it can
     M_...         mutants: one rule is broken, and a check must notice it. Each stands where its rule is */
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef ML
#define ML 2
#endif
#ifndef L
#define L 2
#endif
#ifndef S
#define S 0
#endif
#ifndef D
#define D (ML + S)
#endif
#ifndef Q
#define Q (L + S)
#endif

/* Lease number i is of client CLIENT(i). All leases compete for one lock, except lease 0 if there are two. */
#ifdef TWO_LOCKS
#define LEASES (CLIENTS + 1)
#define CLIENT(i) ((i) == 0 -> 0 : (i) - 1)
#define COMPETE(i, j) ((i) != (j) && (i) != 0 && (j) != 0)
#else
#define LEASES CLIENTS
#define CLIENT(i) (i)
#define COMPETE(i, j) ((i) != (j))
#endif

/* the stores */
#define R 0
#define F 1
#define AT(i, s) (2 * (i) + (s))
/* The modes, in a cycle. In both modes that need both stores the mode before is remembered. */
#define IN_R 0
#define R_THEN_BOTH 1
#define IN_F 2
#define F_THEN_BOTH 3
#define NEEDS(m, s) ((s) == R -> (m) != IN_F : (m) != IN_R)
/* Newcomers take first the store that everybody needed before. Else they take the other, which is free, and those who
   hold the first could not follow into the new mode. */
#ifdef M_FREE_STORE_FIRST
#define FIRST(m) ((m) == IN_F || (m) == R_THEN_BOTH -> F : R)
#else
#define FIRST(m) ((m) == IN_F || (m) == F_THEN_BOTH -> F : R)
#endif
/* the sets of stores, as bits */
#define BIT(s) ((s) + 1)
#define SET(m) ((m) == IN_R -> 1 : ((m) == IN_F -> 2 : 3))
#define HAS_BIT(set, s) (((set) >> (s)) & 1)

/* the arbiter */
byte mode, until_step;
#ifdef M_STALE_READ
byte mode_before;
#endif
/* a client's mode lease: `known` counts while `bound` runs */
byte known[CLIENTS], bound[CLIENTS];
/* its question to the arbiter, or the answer under way, and what a mode lease from that question has left */
#define NONE 0
#define ASKED 1
#define ANSWER(m) (2 + (m))
#define ANSWERED(c) (question[c] >= 2)
#define ANSWERED_MODE(c) (question[c] - 2)
byte question[CLIENTS], question_left[CLIENTS];
#ifdef M_OLD_ANSWER
byte late[CLIENTS], late_left[CLIENTS];
#endif

/* A lease. `held`: its grant counted. `needs`: the stores whose deadlines it looks at. By store: the client's deadline,
   and what the store has left. */
bit held[LEASES];
byte needs[LEASES], deadline[2 * LEASES], ttl[2 * LEASES];
/* its request to a store, or the grant under way, and what a lease from that request has left */
#define TAKE(s) (1 + (s))
#define RENEW(s) (3 + (s))
#define GRANT(s) (5 + (s))
#define GRANTED(i) (request[i] >= 5)
#define GRANTED_BY(i) (request[i] - 5)
byte request[LEASES], request_left[LEASES];
#ifdef IN_FLIGHT
bit freeing[2 * LEASES];  /* a request to free a store that the mode no longer needs, under way */
#define IS_FREEING(i, s) freeing[AT(i, s)]
#else
#define IS_FREEING(i, s) 0
#endif
#ifdef M_TAKES_WHILE_FREEING
#define MAY_TAKE(i, s) 1
#else
#define MAY_TAKE(i, s) (!IS_FREEING(i, s))
#endif

byte quarantine[2];
#ifdef ORPHANS
byte orphan[2];  /* what an owner token that no client uses any more has left in the store */
#define IS_FREE(s) (quarantine[s] == 0 && orphan[s] == 0)
#else
#define IS_FREE(s) (quarantine[s] == 0)
#endif

#ifdef FENCES
/* A fence is a store's time, at least its last fence and a little more. Only what it is ahead of the present matters, so
   it is kept as that: clocks show 1 or 1 + S, each tick takes 1 from all fences, and 0 is below any clock. */
byte ahead[2];             /* how far each store's clock is ahead of the slowest that it may be: 0 or S */
byte last_fence[2];
byte greatest;             /* of all grants that counted */
byte fence[LEASES], granted_fence[LEASES];  /* so far, by the grants that arrived; and in the grant under way */
byte raised[LEASES];       /* the stores that have acknowledged the fence */
/* The fence is above those of all grants that counted so far. A tick is coarse: two fences of one tick look the same, but
   the later one is greater if its store knew the other. */
bit above[LEASES], granted_above[LEASES];
#endif
#ifdef SEEN
byte way[LEASES];
#endif

byte i, j, s;  /* only within a step; 0 between steps */
byte v;

#define HAS(i, set) ((!HAS_BIT(set, R) || deadline[AT(i, R)] > 0) && (!HAS_BIT(set, F) || deadline[AT(i, F)] > 0))
#ifdef FENCES
#ifdef M_NO_RAISE
#define IS_RAISED(i, set) 1
#else
#define IS_RAISED(i, set) ((raised[i] & (set)) == (set))
#endif
#else
#define IS_RAISED(i, set) 1
#endif

/* An attempt belongs to one mode and one bound, and is given up with them. It counts by the mode of its last grant. */
#ifdef M_COUNTS_BY_FIRST_MODE
#define M_KEEPS_ATTEMPT
#define WANTED(i) (needs[i] == 0 -> SET(known[CLIENT(i)]) : needs[i])
#define WANTS_FIRST(i) (WANTED(i) == 3 -> FIRST(known[CLIENT(i)]) : WANTED(i) - 1)
#else
#define WANTED(i) SET(known[CLIENT(i)])
#define WANTS_FIRST(i) FIRST(known[CLIENT(i)])
#endif
#ifdef M_KEEPS_ATTEMPT
#define GIVE_UP(i) skip
#else
#define GIVE_UP(i) end_lease(i)
#endif

inline end_lease(i) {
  held[i] = 0; needs[i] = 0; request[i] = 0; request_left[i] = 0;
  deadline[AT(i, R)] = 0; deadline[AT(i, F)] = 0; ttl[AT(i, R)] = 0; ttl[AT(i, F)] = 0;
#ifdef IN_FLIGHT
  freeing[AT(i, R)] = 0; freeing[AT(i, F)] = 0;
#endif
#ifdef FENCES
  fence[i] = 0; granted_fence[i] = 0; raised[i] = 0; above[i] = 0; granted_above[i] = 0;
#endif
#ifdef SEEN
  way[i] = 0;
#endif
}

/* ---- the stores ---- */

#ifdef FENCES
/* The request says which fence the client has so far, so a store that is asked later, or again, gives no smaller one. */
inline give_fence(i, s) {
  v = 1 + ahead[s];
  if :: last_fence[s] > v -> v = last_fence[s] :: else fi;
#ifndef M_NO_RAISE
  if :: fence[i] > v -> v = fence[i] :: else fi;
#endif
  granted_above[i] = (v > greatest || last_fence[s] >= greatest || (v == fence[i] && above[i]));
  last_fence[s] = v; granted_fence[i] = v; v = 0
}
#else
#define give_fence(i, s) skip
#endif

inline execute(i, s) {
  j = 0;
  do
  :: j < LEASES && !(COMPETE(i, j) && ttl[AT(j, s)] > 0) -> j++
  :: else -> break
  od;
  if
  :: ttl[AT(i, s)] > 0 || (request[i] == TAKE(s) && j == LEASES && IS_FREE(s)) ->
     ttl[AT(i, s)] = L; request[i] = GRANT(s); give_fence(i, s)
  :: else ->
#ifdef ORDER
     assert(!(request[i] == TAKE(s) && held[i] && j < LEASES));
#endif
     request[i] = NONE; request_left[i] = 0
  fi;
  j = 0
}

inline send(i, r, s) {
  request[i] = r; request_left[i] = L;
#ifdef M_COUNTS_BY_FIRST_MODE
  if :: needs[i] == 0 -> needs[i] = SET(known[CLIENT(i)]) :: else fi;
#endif
#ifndef IN_FLIGHT
  execute(i, s)
#endif
}

/* ---- leases ---- */

inline count_grant(i) {
  held[i] = 1; needs[i] = WANTED(i);
  j = 0;
  do
  :: j < LEASES -> assert(!(COMPETE(i, j) && held[j])); j++
  :: else -> break
  od;
#ifdef FENCES
  assert(above[i]);
  if :: fence[i] > greatest -> greatest = fence[i] :: else fi;
  fence[i] = 0; above[i] = 0; raised[i] = 0;
  j = 0;
  do
  :: j < LEASES ->
     above[j] = (above[j] && fence[j] > greatest); granted_above[j] = (granted_above[j] && granted_fence[j] > greatest); j++
  :: else -> break
  od;
#endif
  j = 0
}

#define ATTEMPTS(i) (!held[i] && bound[CLIENT(i)] > 0 && request[i] == NONE)
#define LACKS(i, s) (HAS_BIT(WANTED(i), s) && deadline[AT(i, s)] == 0)
#define OTHER(s) (1 - (s))
#define MUST_ADD(i, s) (ANSWERED(CLIENT(i)) && NEEDS(ANSWERED_MODE(CLIENT(i)), s) && deadline[AT(i, s)] == 0)
#define HAS_TRACES(i) (ttl[AT(i, R)] > 0 || ttl[AT(i, F)] > 0 || deadline[AT(i, R)] > 0 || deadline[AT(i, F)] > 0)

proctype lease(byte me) {
  do
  /* an attempt: one store after the other. Without a mode lease there is none. */
  :: d_step { ATTEMPTS(me) && LACKS(me, WANTS_FIRST(me)) -> s = WANTS_FIRST(me); send(me, TAKE(s), s); s = 0 }
  :: d_step { ATTEMPTS(me) && !LACKS(me, WANTS_FIRST(me)) && LACKS(me, OTHER(WANTS_FIRST(me))) ->
       s = OTHER(WANTS_FIRST(me)); send(me, TAKE(s), s); s = 0 }
#ifdef FENCES
  /* The greatest fence of the stores is the lease's. It is raised in the others before the grant counts, or one of them
     would give a smaller one to the next holder. */
  :: d_step { ATTEMPTS(me) && HAS(me, WANTED(me)) && HAS_BIT(WANTED(me), R) && !IS_RAISED(me, 1) -> send(me, RENEW(R), R) }
  :: d_step { ATTEMPTS(me) && HAS(me, WANTED(me)) && HAS_BIT(WANTED(me), F) && !IS_RAISED(me, 2) -> send(me, RENEW(F), F) }
#endif
  :: d_step { ATTEMPTS(me) && HAS(me, WANTED(me)) && IS_RAISED(me, WANTED(me)) -> count_grant(me) }

  /* A holder that sees a new mode in an answer takes the store that it lacks. One that gave this store up before waits
     for the answer: the request to free it has the same owner token, and could free it again. */
  :: d_step { held[me] && request[me] == NONE && MUST_ADD(me, R) && MAY_TAKE(me, R) ->
       send(me, TAKE(R), R) }
  :: d_step { held[me] && request[me] == NONE && MUST_ADD(me, F) && MAY_TAKE(me, F) ->
       send(me, TAKE(F), F) }

#ifdef IN_FLIGHT
  :: d_step { held[me] && request[me] == NONE && HAS_BIT(needs[me], R) -> send(me, RENEW(R), R) }
  :: d_step { held[me] && request[me] == NONE && HAS_BIT(needs[me], F) -> send(me, RENEW(F), F) }
#else
  :: d_step { held[me] && HAS_BIT(needs[me], R) && ttl[AT(me, R)] > 0 -> ttl[AT(me, R)] = L; deadline[AT(me, R)] = L }
  :: d_step { held[me] && HAS_BIT(needs[me], F) && ttl[AT(me, F)] > 0 -> ttl[AT(me, F)] = L; deadline[AT(me, F)] = L }
#endif

#ifdef IN_FLIGHT
  :: d_step { request[me] != NONE && !GRANTED(me) -> s = (request[me] - 1) & 1; execute(me, s); s = 0 }
  :: d_step { IS_FREEING(me, R) -> freeing[AT(me, R)] = 0; ttl[AT(me, R)] = 0 }
  :: d_step { IS_FREEING(me, F) -> freeing[AT(me, F)] = 0; ttl[AT(me, F)] = 0 }
#endif
  /* The deadline counts from the request: what is left of it when the grant arrives. */
  :: d_step { GRANTED(me) ->
       s = GRANTED_BY(me);
#ifdef M_FROM_RECEIPT
       request_left[me] = L;
#endif
       if :: request_left[me] > deadline[AT(me, s)] -> deadline[AT(me, s)] = request_left[me] :: else fi;
#ifdef FENCES
       if
       :: held[me] -> skip  /* the fence of a lease stays as it is */
       :: !held[me] && granted_fence[me] > fence[me] ->
          fence[me] = granted_fence[me]; above[me] = granted_above[me]; raised[me] = BIT(s)
       :: else -> above[me] = (above[me] || (granted_above[me] && granted_fence[me] == fence[me])); raised[me] = raised[me] | BIT(s)
       fi;
       granted_fence[me] = 0; granted_above[me] = 0;
#endif
       request[me] = NONE; request_left[me] = 0; s = 0 }
  /* The request or the reply is lost, or comes too late to matter. */
  :: d_step { request[me] != NONE ->
#ifndef IN_FLIGHT
       if :: GRANTED(me) && deadline[AT(me, GRANTED_BY(me))] == 0 -> ttl[AT(me, GRANTED_BY(me))] = 0 :: else fi;
#endif
       request[me] = NONE; request_left[me] = 0;
#ifdef FENCES
       granted_fence[me] = 0; granted_above[me] = 0
#endif
     }

  /* A store that the mode no longer needs is freed early. */
  :: d_step { held[me] && request[me] == NONE && !HAS_BIT(needs[me], R) && ttl[AT(me, R)] > 0 && !IS_FREEING(me, R) ->
       deadline[AT(me, R)] = 0;
#ifdef IN_FLIGHT
       freeing[AT(me, R)] = 1
#else
       ttl[AT(me, R)] = 0
#endif
     }
  :: d_step { held[me] && request[me] == NONE && !HAS_BIT(needs[me], F) && ttl[AT(me, F)] > 0 && !IS_FREEING(me, F) ->
       deadline[AT(me, F)] = 0;
#ifdef IN_FLIGHT
       freeing[AT(me, F)] = 1
#else
       ttl[AT(me, F)] = 0
#endif
     }

  /* A release, an attempt that is given up, a lease that is ended because it cannot follow the mode. */
  :: d_step { held[me] || request[me] != NONE || HAS_TRACES(me) ->
       end_lease(me) }
#ifdef ORPHANS
  /* The same, and the release reaches only one of the stores, or none. */
  :: d_step { ttl[AT(me, R)] > 0 -> orphan[R] = ttl[AT(me, R)]; end_lease(me) }
  :: d_step { ttl[AT(me, F)] > 0 -> orphan[F] = ttl[AT(me, F)]; end_lease(me) }
  :: d_step { ttl[AT(me, R)] > 0 && ttl[AT(me, F)] > 0 -> orphan[R] = ttl[AT(me, R)]; orphan[F] = ttl[AT(me, F)]; end_lease(me) }
#endif
  od
}

/* ---- mode leases ---- */

#define FOLLOWS(i, m) (!held[i] || HAS(i, SET(m)))
#ifdef M_BOUND_WITHOUT_STORES
#define ALL_FOLLOW(c, m) 1
#else
#ifdef TWO_LOCKS
#ifdef M_BOUND_BY_ONE_LEASE
#define ALL_FOLLOW(c, m) ((c) == 0 -> FOLLOWS(0, m) : FOLLOWS((c) + 1, m))
#else
#define ALL_FOLLOW(c, m) (((c) != 0 || FOLLOWS(0, m)) && FOLLOWS((c) + 1, m))
#endif
#else
#define ALL_FOLLOW(c, m) FOLLOWS(c, m)
#endif
#endif

/* All leases of the client have what the mode needs, so they, and later grants, may use the longer bound. */
inline follow(c) {
  v = ANSWERED_MODE(c);
#ifdef M_BOUND_FROM_RECEIPT
  question_left[c] = ML;
#endif
  j = 0;
  do
  :: j < LEASES ->
     if
     :: CLIENT(j) == c && held[j] && HAS(j, SET(v)) ->
        needs[j] = SET(v);
#ifdef SEEN
        if :: way[j] == v -> way[j]++; assert(way[j] < 4) :: else fi
#endif
     :: CLIENT(j) == c && !held[j] && v != known[c] -> GIVE_UP(j)
     :: else
     fi;
     j++
  :: else -> break
  od;
  known[c] = v;
  if :: question_left[c] > bound[c] -> bound[c] = question_left[c] :: else fi;
  question[c] = NONE; question_left[c] = 0;
  j = 0; v = 0
}

proctype client(byte me) {
  do
  :: d_step { question[me] == NONE ->
#ifdef IN_FLIGHT
       question[me] = ASKED;
#else
       question[me] = ANSWER(mode);
#endif
       question_left[me] = ML }
#ifdef IN_FLIGHT
  :: d_step { question[me] == ASKED -> question[me] = ANSWER(mode) }
#endif
#ifdef M_STALE_READ
  /* a plain read, of a replica or of a server that was stopped */
  :: d_step { question[me] == NONE -> question[me] = ANSWER(mode_before); question_left[me] = ML }
#endif
  :: d_step { ANSWERED(me) && ALL_FOLLOW(me, ANSWERED_MODE(me)) -> follow(me) }
#ifdef M_OLD_ANSWER
  /* An answer that a later one has overtaken counts after all. */
  :: d_step { ANSWERED(me) -> late[me] = question[me]; late_left[me] = question_left[me]; question[me] = NONE; question_left[me] = 0 }
  :: d_step { late[me] != NONE && question[me] == NONE ->
       question[me] = late[me]; question_left[me] = late_left[me]; late[me] = NONE; late_left[me] = 0 }
#endif
  :: d_step { question[me] != NONE -> question[me] = NONE; question_left[me] = 0 }
  /* A crash. The client begins anew without a mode, so without a grant before the arbiter answers. */
  :: d_step { bound[me] > 0 ->
       known[me] = 0; bound[me] = 0; question[me] = NONE; question_left[me] = 0;
       j = 0;
       do :: j < LEASES -> if :: CLIENT(j) == me -> end_lease(j) :: else fi; j++ :: else -> break od;
       j = 0 }
  od
}

/* ---- arbiter, restarts, time ---- */

inline set_mode(m) {
#ifdef M_STALE_READ
  mode_before = mode;
#endif
#ifdef ALONE_LASTS
  mode = m; until_step = D
#else
  mode = m; until_step = (m == IN_R || m == IN_F -> 0 : D)
#endif
}

inline lose_data(s) {
  j = 0;
  do :: j < LEASES -> ttl[AT(j, s)] = 0; j++ :: else -> break od;
  j = 0;
  quarantine[s] = Q;
#ifdef ORPHANS
  orphan[s] = 0;
#endif
#ifdef FENCES
  last_fence[s] = 0
#endif
}

#define TICK(timer) if :: timer > 0 -> timer-- :: else fi

proctype world() {
  do
  :: d_step { until_step == 0 && mode == IN_R -> set_mode(R_THEN_BOTH) }
  :: d_step { until_step == 0 && mode == IN_F -> set_mode(F_THEN_BOTH) }
  :: d_step { until_step == 0 && (mode == R_THEN_BOTH || mode == F_THEN_BOTH) -> set_mode(IN_R) }
  :: d_step { until_step == 0 && (mode == R_THEN_BOTH || mode == F_THEN_BOTH) -> set_mode(IN_F) }
#ifdef M_SKIPS_BOTH
  :: d_step { until_step == 0 && mode == IN_R -> set_mode(IN_F) }
#endif

#ifdef FENCES
  /* A clock is set, or drifts. */
  :: d_step { ahead[R] = S - ahead[R] }
  :: d_step { ahead[F] = S - ahead[F] }
#endif

  /* A store restarts empty. Its quarantine lasts for the longest lease; with fences S longer, since it may have
     known a fence of the other store's clock. */
#ifdef LOSS
  :: d_step { lose_data(R) }
#if LOSS == 2
  :: d_step { lose_data(F) }
#endif
#endif

  :: d_step {
       TICK(until_step); TICK(quarantine[R]); TICK(quarantine[F]);
#ifdef ORPHANS
       TICK(orphan[R]); TICK(orphan[F]);
#endif
#ifdef FENCES
       TICK(last_fence[R]); TICK(last_fence[F]); TICK(greatest);
#endif
       j = 0;
       do
       :: j < CLIENTS ->
          if
          :: question_left[j] > 0 -> question_left[j]--; if :: question_left[j] == 0 -> question[j] = NONE :: else fi
          :: else
          fi;
#ifdef M_OLD_ANSWER
          if :: late_left[j] > 0 -> late_left[j]--; if :: late_left[j] == 0 -> late[j] = NONE :: else fi :: else fi;
#endif
#ifdef M_NO_BOUND
          if :: bound[j] > 1 -> bound[j]-- :: else fi;
#else
          TICK(bound[j]);
          if :: bound[j] == 0 -> known[j] = 0 :: else fi;
#endif
          j++
       :: else -> break
       od;
       i = 0;
       do
       :: i < LEASES ->
          /* An attempt is over when the lease of one store is: it does not keep the other. */
          if :: !held[i] && (deadline[AT(i, R)] == 1 || deadline[AT(i, F)] == 1) -> end_lease(i) :: else fi;
          TICK(deadline[AT(i, R)]); TICK(deadline[AT(i, F)]); TICK(ttl[AT(i, R)]); TICK(ttl[AT(i, F)]); TICK(request_left[i]);
          if :: request_left[i] == 0 -> request[i] = NONE :: else fi;
#ifdef FENCES
          TICK(fence[i]); TICK(granted_fence[i]);
          if :: request[i] == NONE -> granted_fence[i] = 0; granted_above[i] = 0 :: else fi;
#endif
          /* What is over stays over: no later answer brings a lease back. */
          if
          :: held[i] && (bound[CLIENT(i)] == 0 || !HAS(i, needs[i])) -> end_lease(i)
          :: !held[i] && bound[CLIENT(i)] == 0 -> GIVE_UP(i)
          :: else
          fi;
          i++
       :: else -> break
       od;
       i = 0; j = 0 }
  od
}

init {
  atomic {
    i = 0;
    do :: i < CLIENTS -> run client(i); i++ :: else -> break od;
    i = 0;
    do :: i < LEASES -> run lease(i); i++ :: else -> break od;
    i = 0;
    run world()
  }
}
