"""Budgets: counted per turn, session and day, warned of at 80 %, and the end at the limit."""

import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from portico.config.model_settings import Allowance, BudgetSetting, parse_allowance
from portico.config.settings import Settings, SettingsFile, merge_settings
from portico.domain.errors import BudgetExceeded, ExitCode, InvalidInput
from portico.porter.models.budget import Budget, effective_limits, is_chosen
from portico.porter.models.ledger import DayLedger, SpentTotal
from portico.porter.models.model import ModelUsage

TODAY = date(2026, 11, 16)


def dollars(amount: float) -> ModelUsage:
    return ModelUsage(input=10, output=1, cost_usd=amount)


@pytest.fixture
def ledger(tmp_path: Path) -> DayLedger:
    return DayLedger(tmp_path / "spending.json", lambda: TODAY)


def test_a_warning_comes_once_at_four_fifths_and_the_end_at_the_limit(ledger: DayLedger) -> None:
    budget = Budget(BudgetSetting(turn=Allowance(dollars=1.0)), ledger)
    assert budget.add(dollars(0.7)) == ()
    budget.check()
    (warning,) = budget.add(dollars(0.15))
    assert "85%" in warning
    assert "$0.85 of $1" in warning
    assert budget.add(dollars(0.05)) == ()
    budget.check()
    budget.add(dollars(0.1))
    with pytest.raises(BudgetExceeded, match="this turn") as error:
        budget.check()
    assert error.value.exit_code is ExitCode.POLICY
    assert "PORTICO_BUDGET_TURN" in str(error.value.suggestion)


def test_a_new_turn_begins_with_nothing_spent_and_a_session_does_not(ledger: DayLedger) -> None:
    limits = BudgetSetting(turn=Allowance(tokens=20), session=Allowance(tokens=30))
    budget = Budget(limits, ledger)
    budget.add(ModelUsage(input=15, output=4))
    budget.begin_turn()
    budget.check()
    budget.add(ModelUsage(input=10, output=2))
    with pytest.raises(BudgetExceeded, match="this session"):
        budget.check()


def test_a_session_that_goes_on_after_a_restart_knows_what_it_spent(ledger: DayLedger) -> None:
    budget = Budget(BudgetSetting(session=Allowance(dollars=1.0)), ledger, session=SpentTotal(100, 0.99))
    budget.check()
    budget.add(dollars(0.02))
    assert budget.session.dollars == pytest.approx(1.01)
    with pytest.raises(BudgetExceeded):
        budget.check()


def test_what_other_sessions_spend_counts_for_the_day(ledger: DayLedger, tmp_path: Path) -> None:
    budget = Budget(BudgetSetting(day=Allowance(dollars=1.0)), ledger)
    budget.check()
    DayLedger(tmp_path / "spending.json", lambda: TODAY).add(dollars(1.0))
    with pytest.raises(BudgetExceeded, match="today"):
        budget.check()


def test_a_new_day_begins_with_nothing_spent(ledger: DayLedger, tmp_path: Path) -> None:
    ledger.add(dollars(1.0))
    assert ledger.spent().dollars == 1.0
    assert DayLedger(tmp_path / "spending.json", lambda: date(2026, 11, 17)).spent() == SpentTotal()


def test_a_ledger_that_was_damaged_does_not_stop_the_work(ledger: DayLedger, tmp_path: Path) -> None:
    (tmp_path / "spending.json").write_text("{half")
    assert ledger.add(dollars(0.5)).dollars == 0.5


def test_processes_that_add_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from datetime import date; from pathlib import Path\n"
        "from portico.porter.models.model import ModelUsage; from portico.porter.models.ledger import DayLedger\n"
        "ledger = DayLedger(Path(sys.argv[1]), lambda: date(2026, 11, 16))\n"
        "for _ in range(50): ledger.add(ModelUsage(input=1, output=1, cost_usd=0.5))\n"
    )
    path = tmp_path / "spending.json"
    adding = [subprocess.Popen([sys.executable, "-c", program, str(path)]) for _ in range(3)]
    assert [process.wait(timeout=60) for process in adding] == [0, 0, 0]
    assert DayLedger(path, lambda: TODAY).spent() == SpentTotal(300, 75.0)


def test_a_limit_in_dollars_says_so_when_a_price_is_not_known(ledger: DayLedger) -> None:
    budget = Budget(BudgetSetting(turn=Allowance(dollars=1.0)), ledger)
    (warning,) = budget.add(ModelUsage(input=5, output=5))
    assert "price" in warning
    assert budget.add(ModelUsage(input=5, output=5)) == ()


def test_a_budget_of_nothing_allows_nothing(ledger: DayLedger) -> None:
    with pytest.raises(BudgetExceeded):
        Budget(BudgetSetting(turn=Allowance(tokens=0)), ledger).check()


def test_a_run_may_have_a_budget_of_its_own() -> None:
    setting = BudgetSetting(turn=Allowance(dollars=0.1), day=Allowance(dollars=5.0))
    own = effective_limits(settings(setting), {"PORTICO_BUDGET_TURN": "$2, 300k"})
    assert own.turn == Allowance(dollars=2.0, tokens=300_000)
    assert own.day == setting.day


@pytest.mark.parametrize("text", ["", "much", "$", "-5", "$nan", "1e999", "5x", "$1k"])
def test_a_budget_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_allowance(text)


def test_a_variable_that_means_nothing_is_named() -> None:
    with pytest.raises(InvalidInput, match="PORTICO_BUDGET_DAY"):
        effective_limits(settings(BudgetSetting()), {"PORTICO_BUDGET_DAY": "much"})


def test_a_turn_may_cost_one_dollar_unless_the_user_chooses_another_limit(ledger: DayLedger) -> None:
    limits = effective_limits(settings(BudgetSetting()), {})
    assert (limits.turn.dollars, is_chosen(limits)) == (1.0, False)
    budget = Budget(limits, ledger, chosen=is_chosen(limits))
    assert budget.add(ModelUsage(input=5, output=5)) == ()
    budget.add(dollars(1.0))
    with pytest.raises(BudgetExceeded) as caught:
        budget.check()
    assert "--max-cost" in str(caught.value.suggestion)
    assert "portico config set maxCostUsd 2.00" in str(caught.value.suggestion)
    mine = effective_limits(settings(BudgetSetting(turn=Allowance(dollars=5.0))), {})
    assert (mine.turn.dollars, is_chosen(mine)) == (5.0, True)


def settings(budgets: BudgetSetting) -> Settings:
    return merge_settings(SettingsFile(budgets=budgets), SettingsFile(), Path("config"), Path("workspace"))
