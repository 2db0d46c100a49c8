# Completion of cruxctl for fish: cruxctl completions fish | source
complete --command cruxctl --no-files --keep-order --arguments '(_CRUXCTL_COMPLETE=fish command cruxctl -- (commandline --current-token --cut-at-cursor) (commandline --current-process --tokenize --cut-at-cursor) 2> /dev/null)'
