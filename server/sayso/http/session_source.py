"""A run's reader as a source of session frames."""

from sayso.http.session_frames import Translator
from sayso.streams.stream import Reader

__all__ = ["SessionSource"]


class SessionSource:
    """Waits until there is something to tell: most events of a run say nothing to a session."""

    def __init__(self, reader: Reader, translator: Translator) -> None:
        self.reader = reader
        self.translator = translator
        self.ended = False
        self.whole = False
        self.delivered = False
        self._ready = b""
        self._poked = False

    async def more(self) -> None:
        """Done when there is something to grab, at the end, and by a `poke`."""
        self._poked = False
        while not (self._ready or self._poked or self.reader.ended):
            await self.reader.more()
            self._ready += self.translator.read(self.reader.grab())

    def grab(self) -> bytes:
        """All frames that are ready now."""
        ready = self._ready + self.translator.read(self.reader.grab())
        self._ready = b""
        self.ended, self.whole = self.reader.ended, self.reader.whole
        return ready

    def poke(self) -> None:
        """End the waiting, although nothing is ready."""
        self._poked = True
        self.reader.poke()

    def detach(self) -> None:
        """The body is over; idempotent."""
        self.reader.detach()
        self.ended = True
