"""What ends a command becomes one sentence on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager

from evaluation.commands.run import refuse


@contextmanager
def says_why() -> Iterator[None]:
    """Ends the process with 1 where the settings, the data or a server will not do."""
    from chassis.models.pretrained import WrongWeights
    from chassis.startup import CannotStart
    from evaluation.calibration.replay import CalibrationError
    from evaluation.data.model import DatasetError
    from evaluation.judging.model_judge import JudgeError
    from evaluation.judging.verdicts import JudgeDown
    from evaluation.runs.store import RunError
    from training.config import WrongConfig
    from training.grpo.rollout import ServicesDown
    from training.merging import CannotMerge
    from training.runs import RunRefused
    from training.samples import UnreadableData

    of_evaluation = (CalibrationError, DatasetError, JudgeError, JudgeDown, RunError)
    of_training = (CannotMerge, RunRefused, ServicesDown, UnreadableData, WrongConfig)
    try:
        yield
    except (*of_evaluation, *of_training, CannotStart, WrongWeights) as error:
        refuse(str(error))
    except KeyboardInterrupt:
        refuse("Stopped. What is done is kept: the same command goes on from there.", 130)
