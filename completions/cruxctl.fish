# Completion of cruxctl for fish: cruxctl completions fish | source
function __cruxctl_complete
    set -l before (commandline --current-process --tokenize --cut-at-cursor)
    set -l all (commandline --current-process --tokenize)
    set -l word (commandline --current-token --cut-at-cursor)
    _CRUXCTL_COMPLETE=fish command cruxctl -- "$word" (count $before) $all 2> /dev/null
end
complete --command cruxctl --no-files --keep-order --arguments '(__cruxctl_complete)'
