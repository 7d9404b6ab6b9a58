"""What the checks of one preflight share: its own token, its racers, its time and its counts."""

from collections.abc import Callable
from dataclasses import dataclass, field

from scenemosaic.committing.metrics import count_refusal
from scenemosaic.errors import TransientStoreError
from scenemosaic.preflight.races import Attempt, Judgement, Racers, judge
from scenemosaic.preflight.report import Finding, Subject, Verdict
from scenemosaic.stores.port import Answer
from scenemosaic.waiting.retry import Effects, Pacer, RetryPolicy

Write = Callable[[str], Answer]
Stored = Callable[[], str | None]
# Where fewer rounds than this share have a winner, they tell too little.
_CONCLUSIVE = 0.5


@dataclass
class Ground:
    """``token`` names this preflight's own keys; ``end`` is the deadline on ``effects.clock``.

    ``refusals`` counts the writes that were refused so far, ``progress`` takes a
    check's share that is done.
    """

    token: str
    racers: Racers
    rounds: int
    policy: RetryPolicy
    effects: Effects
    end: float
    progress: Callable[[float], None] = lambda share: None
    refusals: int = field(default=0, init=False)

    @property
    def late(self) -> bool:
        return self.effects.clock() > self.end

    def surely(self, by: Subject, mark: str, write: Write) -> Answer:
        """The answer to a write that must be refused, sent again until there is one.

        Sending it again harms nothing: refused, it changes nothing, and where it is
        accepted, no matter which time, the condition is ignored.
        """
        pacer = Pacer(self.policy, self.effects)
        while True:
            attempt = self._attempt(mark, write)
            self._count(by, [attempt])
            if attempt.answer not in (None, Answer.RACING):
                return attempt.answer
            if not pacer.again():
                raise TransientStoreError("no reply came that says anything; run it again")

    def race(
        self,
        by: Subject,
        rounds: int,
        prepare: Callable[[int], tuple[Write, Stored]],
        threads: int | None = None,
    ) -> Finding:
        """``prepare(round)`` gives how to write a mark, and how to read the one that is stored."""
        conclusive = 0
        for number in range(rounds):
            if self.late:
                seen = f"the deadline was over after {number} of {rounds} races"
                return Finding(Verdict.UNTESTED, seen)
            judgement = self._round(by, number, *prepare(number), threads)
            if judgement.problem:
                return Finding(Verdict.IGNORED, f"race {number + 1}: {judgement.problem}")
            conclusive += judgement.conclusive
            self.progress((number + 1) / rounds)
        if conclusive < rounds * _CONCLUSIVE:
            seen = f"only {conclusive} of {rounds} races had a winner that is known"
            return Finding(Verdict.UNTESTED, seen)
        return Finding(Verdict.ENFORCED, f"{conclusive} races, one winner each")

    def _round(
        self, by: Subject, number: int, write: Write, stored: Stored, threads: int | None
    ) -> Judgement:
        attempts = self.racers.run(
            lambda racer: self._attempt(f"{number:04d}-{racer:04d}", write), threads
        )
        self._count(by, attempts)
        return judge(attempts, stored)

    def _attempt(self, mark: str, write: Write) -> Attempt:
        """A lost reply stays unknown, a 409 is sent again."""
        pacer = Pacer(self.policy, self.effects)
        while True:
            try:
                answer = write(mark)
            except TransientStoreError:
                return Attempt(mark, None)
            if answer is not Answer.RACING or not pacer.again():
                return Attempt(mark, answer)

    def _count(self, by: Subject, attempts: list[Attempt]) -> None:
        for attempt in attempts:
            if attempt.answer in (Answer.REFUSED, Answer.GONE):
                self.refusals += 1
                count_refusal(by)
