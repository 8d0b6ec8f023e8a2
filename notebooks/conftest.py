"""The notebooks run as the tests do: held on this machine, with an empty home, and no Chrome of anybody's."""

import tests.conftest  # noqa: F401  (setting that up is what it does when it is loaded)
