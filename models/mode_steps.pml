/* The arbiter of a store made of two, and its proposers: a mode that needs both stores lasts at least D. joint.pml rests on
   that. A mode that needs one store may be left at any time.

   The arbiter changes its register if the version is the one that the proposer names. A proposer waits D after it saw a mode
   that needs both, by its own clock, before it proposes the next. So that mode was committed at least D before. The proposer
   need not know when: one that restarted, lost a reply, or meets a mode that another has changed reads it and waits D from
   then.

   A mode that needs both can be made to stay: a proposer that has waited D settles it. That is a new version of the same
   mode, and a proposer that reads it need not wait.

   Proposals and replies are delayed and lost, and a proposal may arrive after its proposer has given it up. A version would
   grow without end. A bit with each proposal and each view of a proposer, which the next change of the register clears, says
   the same: that the version is still the one it names.

   By -D: PROPOSERS, D, and mutants M_..., each of which a check must notice. */
#ifndef PROPOSERS
#define PROPOSERS 2
#endif
#ifndef D
#define D 2
#endif

/* The modes, in a cycle; see joint.pml. */
#define IN_R 0
#define R_THEN_BOTH 1
#define IN_F 2
#define F_THEN_BOTH 3
#define NEEDS_BOTH(m) ((m) & 1)

/* a proposer's view, its proposals under way, its replies */
#define NOTHING 4
#define REFUSED 5
#define SETTLE 6   /* as a proposal: the mode stays as it is */
#define SETTLED 7  /* as a reply: it does */

byte mode, until_step;  /* until_step: what is left of D since a step to both. The arbiter does not look at it */
bit settled;
byte seen[PROPOSERS], wait[PROPOSERS];
bit seen_settled[PROPOSERS];
bit seen_current[PROPOSERS];  /* the version that was seen is still the arbiter's */
/* The proposal that the proposer waits for, and one that it has given up. */
byte proposal[2 * PROPOSERS];
bit current[2 * PROPOSERS];   /* the version that it names is still the arbiter's */
byte reply[PROPOSERS];        /* the new mode, SETTLED, REFUSED or NOTHING */
bit reply_current[PROPOSERS];
byte i, v;  /* only within a step; 0 between steps */

#define WAITED_FOR(p) (2 * (p))
#define GIVEN_UP(p) (2 * (p) + 1)

/* What names an older version is refused, so nothing but that is kept of it. */
#ifdef M_COMPARES_MODE
byte from[2 * PROPOSERS];
#define FITS(n) (from[n] == mode)
#define SET_FROM(n, m) from[n] = m
#define REFUSE_WHAT_WAITS(p) skip
#define MAY_FIT_LATER 1
#else
#define FITS(n) current[n]
#define SET_FROM(n, m) skip
#define REFUSE_WHAT_WAITS(p) if :: proposal[WAITED_FOR(p)] != NOTHING -> proposal[WAITED_FOR(p)] = SETTLE :: else fi; clear(GIVEN_UP(p))
#define MAY_FIT_LATER 0
#endif

inline clear(n) { proposal[n] = NOTHING; current[n] = 0; SET_FROM(n, NOTHING) }

#define SHORTEST(m) (NEEDS_BOTH(m) -> D : 0)

inline step(m) {
  assert(!NEEDS_BOTH(mode) || until_step == 0);
  mode = m; until_step = SHORTEST(m)
#ifndef M_STAYS_SETTLED
  ; settled = 0
#endif
}

/* Carries out a proposal. */
inline write(what) {
  if
  :: what == SETTLE -> settled = 1
  :: else -> step(what)
  fi;
  i = 0;
  do
  :: i < PROPOSERS ->
     seen_current[i] = 0; reply_current[i] = 0; current[WAITED_FOR(i)] = 0; current[GIVEN_UP(i)] = 0;
     REFUSE_WHAT_WAITS(i); i++
  :: else -> break
  od;
  i = 0
}

inline propose(p, m) {
  proposal[WAITED_FOR(p)] = m; current[WAITED_FOR(p)] = seen_current[p]; SET_FROM(WAITED_FOR(p), seen[p])
#ifdef M_COUNTS_FROM_PROPOSAL
  ; wait[p] = (m < NOTHING -> SHORTEST(m) : 0)
#endif
}

/* What is under way may still arrive. An older one that may, too, is lost then. */
inline give_up(p) {
  if
  :: proposal[WAITED_FOR(p)] != NOTHING ->
     if
     :: current[WAITED_FOR(p)] || MAY_FIT_LATER ->
        proposal[GIVEN_UP(p)] = proposal[WAITED_FOR(p)]; current[GIVEN_UP(p)] = current[WAITED_FOR(p)];
        SET_FROM(GIVEN_UP(p), from[WAITED_FOR(p)])
     :: else
     fi;
     clear(WAITED_FOR(p))
  :: else
  fi;
  reply[p] = NOTHING; reply_current[p] = 0
}

#define IS_READY(p) (seen[p] != NOTHING && proposal[WAITED_FOR(p)] == NOTHING && reply[p] == NOTHING)
#define HAS_WAITED(p) (wait[p] == 0 || seen_settled[p])
#define MAY_LEAVE_BOTH(p) (IS_READY(p) && NEEDS_BOTH(seen[p]) && HAS_WAITED(p))
#ifdef M_SETTLES_EARLY
#define MAY_SETTLE(p) (IS_READY(p) && NEEDS_BOTH(seen[p]) && !seen_settled[p])
#else
#define MAY_SETTLE(p) (MAY_LEAVE_BOTH(p) && !seen_settled[p])
#endif

/* what is seen of a register that holds this mode */
inline see(p, m, stays, is_current) {
  seen[p] = m; seen_settled[p] = stays; seen_current[p] = is_current; wait[p] = 0
}
inline see_nothing(p) { see(p, NOTHING, 0, 0) }

proctype proposer(byte me) {
  do
  /* A read. The answer may be late: the proposer counts from when it has it, so a late one only costs time. */
  :: d_step { seen[me] == NOTHING || !seen_current[me] -> see(me, mode, settled, 1);
#ifndef M_RESTARTS_WITHOUT_WAIT
       wait[me] = (settled -> 0 : SHORTEST(mode))
#endif
     }
  :: d_step { IS_READY(me) && !NEEDS_BOTH(seen[me]) -> propose(me, seen[me] + 1) }
  :: d_step { MAY_LEAVE_BOTH(me) -> propose(me, IN_R) }
  :: d_step { MAY_LEAVE_BOTH(me) -> propose(me, IN_F) }
  :: d_step { MAY_SETTLE(me) -> propose(me, SETTLE) }

  :: d_step { proposal[WAITED_FOR(me)] != NOTHING ->
       if
       :: FITS(WAITED_FOR(me)) ->
          v = proposal[WAITED_FOR(me)]; clear(WAITED_FOR(me)); write(v);
          reply[me] = (v == SETTLE -> SETTLED : v); reply_current[me] = 1; v = 0
       :: else -> reply[me] = REFUSED; clear(WAITED_FOR(me))
       fi }
  :: d_step { proposal[GIVEN_UP(me)] != NOTHING ->
       if
       :: FITS(GIVEN_UP(me)) -> v = proposal[GIVEN_UP(me)]; clear(GIVEN_UP(me)); write(v); v = 0
       :: else -> clear(GIVEN_UP(me))
       fi }
  :: d_step { proposal[GIVEN_UP(me)] != NOTHING -> clear(GIVEN_UP(me)) }

  /* The proposer saw its own step committed when the reply arrives, not when it sent the proposal. */
  :: d_step { reply[me] != NOTHING ->
       if
       :: reply[me] == REFUSED -> see_nothing(me)
       :: reply[me] == SETTLED -> see(me, seen[me], 1, reply_current[me])
       :: else ->
#ifdef M_COUNTS_FROM_PROPOSAL
          v = wait[me]; see(me, reply[me], 0, reply_current[me]); wait[me] = v; v = 0
#else
          see(me, reply[me], 0, reply_current[me]); wait[me] = SHORTEST(seen[me])
#endif
       fi;
       reply[me] = NOTHING; reply_current[me] = 0 }

  /* The proposal or its reply is lost, or late: the proposer proposes again, or reads. */
  :: d_step { proposal[WAITED_FOR(me)] != NOTHING || reply[me] != NOTHING -> give_up(me) }
  /* a restart */
  :: d_step { seen[me] != NOTHING -> give_up(me); see_nothing(me) }
  od
}

proctype world() {
  do
  :: d_step {
       if :: until_step > 0 -> until_step-- :: else fi;
       i = 0;
       do :: i < PROPOSERS -> if :: wait[i] > 0 -> wait[i]-- :: else fi; i++ :: else -> break od;
       i = 0 }
  od
}

init {
  atomic {
    i = 0;
    do
    :: i < PROPOSERS ->
       seen[i] = NOTHING; reply[i] = NOTHING; clear(WAITED_FOR(i)); clear(GIVEN_UP(i)); run proposer(i); i++
    :: else -> break
    od;
    i = 0;
    run world()
  }
}
