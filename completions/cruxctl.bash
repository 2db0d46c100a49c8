# Completion of cruxctl for bash: source <(cruxctl completions bash)
#
# The answer has a candidate a line, quoted, behind a mark: + where no space belongs behind it.
_cruxctl() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line:1}")
        [[ $line == +* ]] && compopt -o nospace 2> /dev/null
    done < <(
        _CRUXCTL_COMPLETE=bash command cruxctl -- \
            "${COMP_LINE:0:COMP_POINT}" "${COMP_LINE:COMP_POINT}" "$COMP_WORDBREAKS" 2> /dev/null
    )
}
complete -o bashdefault -o nosort -F _cruxctl cruxctl 2> /dev/null || complete -o bashdefault -F _cruxctl cruxctl
