"""`loreglass train sft`: LoRA by supervised fine-tuning."""

from training.commands.failing import says_why
from training.commands.running import Config, Data, Out, PlanOnly, Set, on_all_cards, opened, settings_of


def sft(
    config: Config, data: Data = None, out: Out = None, plan: PlanOnly = False, given: Set = None
) -> None:
    """Teach a vision-language model the tasks of DATA, by the settings of CONFIG.

    The same command goes on where it stopped, to the same result.
    """
    from training.libraries import require
    from training.sft.settings import SftConfig

    with says_why():
        settings = settings_of(config, SftConfig, data, given)
        if plan:
            from training.commands.planning import plan as show

            return show(settings)
        require()
        on_all_cards(settings.cards)
        run = opened(out, settings)

        from training.sft.finetuning import finetune

        finetune(settings, run)
