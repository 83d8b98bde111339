"""`loreglass train grpo`: Wiki-PRF's model by reinforcement, over the running platform."""

from training.commands.failing import says_why
from training.commands.running import Config, Data, Out, PlanOnly, Set, on_all_cards, opened, settings_of


def grpo(
    config: Config, data: Data = None, out: Out = None, plan: PlanOnly = False, given: Set = None
) -> None:
    """Train tool plans and filtering on the questions of DATA, by the settings of CONFIG.

    The services must run, with an index: LOREGLASS_GATEWAY_IMAGE_SEARCH_URL and the like say where, as for
    the gateway. The same command goes on where it stopped.
    """
    from chassis.http.serving import from_environment
    from gateway.settings import GatewaySettings
    from training.grpo.settings import GrpoConfig
    from training.libraries import require

    with says_why():
        settings = settings_of(config, GrpoConfig, data, given)
        if plan:
            from training.commands.planning import plan as show

            return show(settings)
        require()
        gateway = from_environment(GatewaySettings)
        on_all_cards(settings.cards)
        run = opened(out, settings)

        from training.grpo.tuning import tune

        tune(settings, run, gateway)
