# Completion of cruxctl for fish: cruxctl completions fish | source
function __cruxctl_complete
    set -l word (commandline --current-token --cut-at-cursor)
    set -l before (commandline --current-process --tokenize --cut-at-cursor)
    _CRUXCTL_COMPLETE=fish command cruxctl -- "$word" $before 2> /dev/null
end
complete --command cruxctl --no-files --keep-order --arguments '(__cruxctl_complete)'
