# Completion of cruxctl for fish: cruxctl completions fish | source
function __cruxctl_complete
    # As it was typed: quotes say what is to be expanded.
    set -l line (commandline --current-process --cut-at-cursor | string collect)
    _CRUXCTL_COMPLETE=fish command cruxctl -- "$line" 2> /dev/null
end
complete --command cruxctl --no-files --keep-order --arguments '(__cruxctl_complete)'
