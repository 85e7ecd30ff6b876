/* The arbiter of a store made of two, and its proposers: any two steps of the mode are at least D apart. joint.pml rests
   on that.

   The arbiter changes the mode if its epoch is the one that the proposer names. A proposer waits D after it saw a mode,
   by its own clock, before it proposes the next. So the epoch of its proposal was committed at least D before. The
   proposer need not know when: one that restarted, lost a reply, or meets a mode that another has changed reads it and
   waits D from then.

   Proposals and replies are delayed and lost, and a proposal may arrive after its proposer has given it up. An epoch would
   grow without end. A bit with each proposal and each view of a proposer, which the next step clears, says the same:
   that the epoch is still the one it names.

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

byte mode, until_step;  /* until_step: what is left of D since the last step. The arbiter does not look at it */
byte seen[PROPOSERS], wait[PROPOSERS];
bit seen_current[PROPOSERS];  /* the epoch that was seen is still the arbiter's */
/* The proposal that the proposer waits for, and one that it has given up. */
byte proposal[2 * PROPOSERS], from[2 * PROPOSERS];
bit current[2 * PROPOSERS];   /* the epoch that it names is still the arbiter's */
byte reply[PROPOSERS];        /* the new mode, REFUSED or NOTHING */
bit reply_current[PROPOSERS];
byte i;

#define WAITED_FOR(p) (2 * (p))
#define GIVEN_UP(p) (2 * (p) + 1)

#ifdef M_COMPARES_MODE
#define FITS(n) (from[n] == mode)
#else
#define FITS(n) current[n]
#endif

inline clear(n) { proposal[n] = NOTHING; from[n] = NOTHING; current[n] = 0 }

inline step(m) {
  assert(until_step == 0);
  mode = m; until_step = D;
  i = 0;
  do
  :: i < PROPOSERS ->
     seen_current[i] = 0; reply_current[i] = 0; current[WAITED_FOR(i)] = 0; current[GIVEN_UP(i)] = 0; i++
  :: else -> break
  od;
  i = 0
}

inline propose(p, m) {
  proposal[WAITED_FOR(p)] = m; from[WAITED_FOR(p)] = seen[p]; current[WAITED_FOR(p)] = seen_current[p];
#ifdef M_COUNTS_FROM_PROPOSAL
  wait[p] = D
#endif
}

/* What is under way may still arrive. An older one that may, too, is lost then. */
inline give_up(p) {
  if
  :: proposal[WAITED_FOR(p)] != NOTHING ->
     proposal[GIVEN_UP(p)] = proposal[WAITED_FOR(p)]; from[GIVEN_UP(p)] = from[WAITED_FOR(p)];
     current[GIVEN_UP(p)] = current[WAITED_FOR(p)]; clear(WAITED_FOR(p))
  :: else
  fi;
  reply[p] = NOTHING; reply_current[p] = 0
}

#define MAY_PROPOSE(p) (seen[p] != NOTHING && wait[p] == 0 && proposal[WAITED_FOR(p)] == NOTHING && reply[p] == NOTHING)

proctype proposer(byte me) {
  do
  /* A read. The answer may be late: the proposer counts from when it has it, so a late one only costs time. */
  :: d_step { seen[me] == NOTHING || !seen_current[me] -> seen[me] = mode; seen_current[me] = 1;
#ifndef M_RESTARTS_WITHOUT_WAIT
       wait[me] = D
#endif
     }
  :: d_step { MAY_PROPOSE(me) && !NEEDS_BOTH(seen[me]) -> propose(me, seen[me] + 1) }
  :: d_step { MAY_PROPOSE(me) && NEEDS_BOTH(seen[me]) -> propose(me, IN_R) }
  :: d_step { MAY_PROPOSE(me) && NEEDS_BOTH(seen[me]) -> propose(me, IN_F) }

  :: d_step { proposal[WAITED_FOR(me)] != NOTHING ->
       if
       :: FITS(WAITED_FOR(me)) -> step(proposal[WAITED_FOR(me)]); reply[me] = proposal[WAITED_FOR(me)]; reply_current[me] = 1
       :: else -> reply[me] = REFUSED
       fi;
       clear(WAITED_FOR(me)) }
  :: d_step { proposal[GIVEN_UP(me)] != NOTHING ->
       if :: FITS(GIVEN_UP(me)) -> step(proposal[GIVEN_UP(me)]) :: else fi;
       clear(GIVEN_UP(me)) }
  :: d_step { proposal[GIVEN_UP(me)] != NOTHING -> clear(GIVEN_UP(me)) }

  /* The proposer saw its own step committed when the reply arrives, not when it sent the proposal. */
  :: d_step { reply[me] != NOTHING ->
       if
       :: reply[me] == REFUSED -> seen[me] = NOTHING; seen_current[me] = 0; wait[me] = 0
       :: else -> seen[me] = reply[me]; seen_current[me] = reply_current[me];
#ifndef M_COUNTS_FROM_PROPOSAL
          wait[me] = D
#endif
       fi;
       reply[me] = NOTHING; reply_current[me] = 0 }

  /* The proposal or its reply is lost, or late: the proposer proposes again, or reads. */
  :: d_step { proposal[WAITED_FOR(me)] != NOTHING || reply[me] != NOTHING -> give_up(me) }
  /* a restart */
  :: d_step { seen[me] != NOTHING -> give_up(me); seen[me] = NOTHING; seen_current[me] = 0; wait[me] = 0 }
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
