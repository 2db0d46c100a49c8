# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_cruxctl_global_optspecs
    string join \n data-dir= agent= format= json 0/null q/quiet color= lock-timeout= no-sync damaged-ok h/help V/version
end

function __fish_cruxctl_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_cruxctl_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_cruxctl_using_subcommand
    set -l cmd (__fish_cruxctl_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c cruxctl -n "__fish_cruxctl_needs_command" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_needs_command" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_needs_command" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_needs_command" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_needs_command" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_needs_command" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_needs_command" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_needs_command" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_needs_command" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_needs_command" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_needs_command" -s V -l version -d 'Print version'
complete -c cruxctl -n "__fish_cruxctl_needs_command" -f -a "session" -d 'What agents are doing: opaque JSON states by id'
complete -c cruxctl -n "__fish_cruxctl_needs_command" -f -a "case" -d 'How it turned out: record it, find precedents'
complete -c cruxctl -n "__fish_cruxctl_needs_command" -f -a "fact" -d 'What is known: store it, find it, say when it holds'
complete -c cruxctl -n "__fish_cruxctl_needs_command" -f -a "handoff" -d 'What one agent hands over to another: mint, verify, accept'
complete -c cruxctl -n "__fish_cruxctl_needs_command" -f -a "journal" -d 'The journals themselves: check, repair, show, picture, compact, export'
complete -c cruxctl -n "__fish_cruxctl_needs_command" -f -a "completions" -d 'Print a shell\'s completion script'
complete -c cruxctl -n "__fish_cruxctl_needs_command" -f -a "man" -d 'Write the manual pages to a folder'
complete -c cruxctl -n "__fish_cruxctl_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -f -a "put" -d 'Store a state under an id'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -f -a "get" -d 'Print a session\'s state: its bytes and one line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -f -a "show" -d 'Show a session\'s document: scope, sizes, times, hash, place in the journal'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -f -a "list" -d 'List sessions, the one written last first'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -f -a "delete" -d 'Delete a session; this cannot be taken back'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -f -a "archive" -d 'Hide a session from lists; it is kept in full'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -f -a "unarchive" -d 'Show an archived session in lists again'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -f -a "reap" -d 'Delete the sessions that have expired'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and not __fish_seen_subcommand_from put get show list delete archive unarchive reap help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l file -d 'Read the state from this file instead of standard input' -r -F
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l ttl -d 'Let the session expire after this time span, for example 90m, 2h or 3days' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l actor -d 'Who writes it [default: the agent]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l if-match -d 'Only if the current state has this BLAKE3 hash, as `session show` prints it' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l max-state-bytes -d 'The largest state that is written [default: $CRUXCTL_MAX_STATE_BYTES or 16777216]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l all-agents -d 'Take the id as it is stored, whatever agent it belongs to'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l if-absent -d 'Only if there is no such session'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l allow-daemon-unreadable -d 'Store a state that the daemon cannot read'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l dry-run -d 'Say what would be done and do nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from put" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from get" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from get" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from get" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from get" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from get" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from get" -l all-agents -d 'Take the id as it is stored, whatever agent it belongs to'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from get" -l expired -d 'Print an expired session too'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from get" -l raw -d 'Exact bytes on a terminal too'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from get" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from get" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from get" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from get" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from get" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from get" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from show" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from show" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from show" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from show" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from show" -l all-agents -d 'Take the id as it is stored, whatever agent it belongs to'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from show" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from show" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from show" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from show" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from show" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l prefix -d 'Only ids that begin with this' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l since -d 'Only sessions updated since this RFC 3339 time, or within this time span (2h)' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l sort -d 'The order' -r -f -a "written\t'Last write first, by the order of the journal'
id\t'By id'
updated\t'Latest updated_at first'
size\t'Largest state first'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l limit -d 'At most this many' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l all-agents -d 'Every stored id as it is, whatever agent it belongs to'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l archived -d 'Only archived sessions'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l all -d 'Archived sessions too'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l reverse -d 'The other way round'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from delete" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from delete" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from delete" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from delete" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from delete" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from delete" -l all-agents -d 'Take the id as it is stored, whatever agent it belongs to'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from delete" -l dry-run -d 'Say what would be done and do nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from delete" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from delete" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from delete" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from delete" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from delete" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from archive" -l reason -d 'Why' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from archive" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from archive" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from archive" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from archive" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from archive" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from archive" -l all-agents -d 'Take the id as it is stored, whatever agent it belongs to'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from archive" -l dry-run -d 'Say what would be done and do nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from archive" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from archive" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from archive" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from archive" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from archive" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from archive" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from unarchive" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from unarchive" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from unarchive" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from unarchive" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from unarchive" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from unarchive" -l all-agents -d 'Take the id as it is stored, whatever agent it belongs to'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from unarchive" -l dry-run -d 'Say what would be done and do nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from unarchive" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from unarchive" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from unarchive" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from unarchive" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from unarchive" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from unarchive" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from reap" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from reap" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from reap" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from reap" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from reap" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from reap" -l all-agents -d 'Of every agent'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from reap" -l dry-run -d 'List what would be deleted and delete nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from reap" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from reap" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from reap" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from reap" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from reap" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from reap" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from help" -f -a "put" -d 'Store a state under an id'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from help" -f -a "get" -d 'Print a session\'s state: its bytes and one line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show a session\'s document: scope, sizes, times, hash, place in the journal'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from help" -f -a "list" -d 'List sessions, the one written last first'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from help" -f -a "delete" -d 'Delete a session; this cannot be taken back'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from help" -f -a "archive" -d 'Hide a session from lists; it is kept in full'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from help" -f -a "unarchive" -d 'Show an archived session in lists again'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from help" -f -a "reap" -d 'Delete the sessions that have expired'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand session; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -f -a "record" -d 'Record what was done and how it turned out; print the new id'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -f -a "import" -d 'Record many cases at once, one JSON object a line'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -f -a "retrieve" -d 'Find the cases that are most like a task'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -f -a "show" -d 'Show one case in full'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -f -a "list" -d 'List cases, the one recorded last first'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -f -a "reuse" -d 'Say that cases were used again; each time counts one'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -f -a "delete" -d 'Delete a case; this cannot be taken back'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and not __fish_seen_subcommand_from record import retrieve show list reuse delete help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l task -d 'What was to be done' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l action -d 'What was done' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l outcome -d 'How it turned out' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l context -d 'Under which circumstances' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l reward -d 'How well it turned out, from 0 to 1 [default: 1]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l tag -d 'A tag; may be given more than once' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l source-receipt -d 'The receipt of the run' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l failed -d 'It did not turn out well'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l dry-run -d 'Say what would be done and do nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from import" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from import" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from import" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from import" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from import" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from import" -l atomic -d 'All or none: one line that is no case keeps all others out, and a write that fails is undone. The whole input is held in memory'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from import" -l dry-run -d 'Say what would be done and do nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from import" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from import" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from import" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from import" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from import" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -s k -l top -d 'How many cases, from 1 to 100' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l tag -d 'Only cases with this tag; given more than once, with all of them' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l since -d 'Only cases recorded since this RFC 3339 time, or within this time span (2h)' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l min-score -d 'Only cases with at least this score, from 0 to 1' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l rank -d 'How cases are compared with the text' -r -f -a "daemon\t'As the daemon does it: all words count the same'
weighted\t'Rare words weigh more; stems of words, and pairs of Chinese, Japanese and Korean characters, are compared'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l any-tag -d 'One of the tags is enough'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l only-success -d 'Only cases that turned out well'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l explain -d 'Say which words match, and which of them are rare'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l fold -d 'Count the same case recorded again as one'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from retrieve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from show" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from show" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from show" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from show" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from show" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from show" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from show" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from show" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from show" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l tag -d 'Only cases with this tag; given more than once, with all of them' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l since -d 'Only cases recorded since this RFC 3339 time, or within this time span (2h)' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l sort -d 'The order' -r -f -a "recorded\t'Last recorded first, by the order of the journal'
created\t'Latest created_at first'
reward\t'Best rewarded first'
id\t'By id'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l limit -d 'At most this many' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l any-tag -d 'One of the tags is enough'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l only-success -d 'Only cases that turned out well'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l only-failed -d 'Only cases that did not turn out well'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l reverse -d 'The other way round'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from reuse" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from reuse" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from reuse" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from reuse" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from reuse" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from reuse" -l dry-run -d 'Say what would be done and do nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from reuse" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from reuse" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from reuse" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from reuse" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from reuse" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from reuse" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from delete" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from delete" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from delete" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from delete" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from delete" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from delete" -l dry-run -d 'Say what would be done and do nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from delete" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from delete" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from delete" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from delete" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from delete" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from help" -f -a "record" -d 'Record what was done and how it turned out; print the new id'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from help" -f -a "import" -d 'Record many cases at once, one JSON object a line'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from help" -f -a "retrieve" -d 'Find the cases that are most like a task'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show one case in full'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from help" -f -a "list" -d 'List cases, the one recorded last first'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from help" -f -a "reuse" -d 'Say that cases were used again; each time counts one'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from help" -f -a "delete" -d 'Delete a case; this cannot be taken back'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand case; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -f -a "store" -d 'Store a fact; print its id'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -f -a "show" -d 'Show one fact in full, as it is now'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -f -a "list" -d 'List facts, the one stored last first'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -f -a "query" -d 'Find facts by words, entity, key, tenant and time'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -f -a "history" -d 'Every version of a fact, the oldest first, with what became of it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -f -a "delete" -d 'Delete a fact'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -f -a "supersede" -d 'Let another fact take a fact\'s place, or none any more'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -f -a "validity" -d 'Say when a fact holds'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and not __fish_seen_subcommand_from store show list query history delete supersede validity help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l entity -d 'What it is about' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l key -d 'Which of the entity\'s facts' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l value -d 'What is known' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l value-file -d 'Read the value from this file, its last line end included; - reads standard input' -r -F
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l tenant -d 'Whose it is [default: default]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l confidence -d 'How sure it is: any number of 32 bits [default: 1]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l horizon -d 'How long it is expected to hold [default: by the entity]' -r -f -a "volatile\t''
medium\t''
stable\t''
none\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l actor -d 'Who stores it [default: the agent]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l source-receipt -d 'The receipt of the run it comes from' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l valid-from -d 'Since when it holds: an RFC 3339 time, or how long ago (2h)' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l valid-to -d 'Until when it holds: an RFC 3339 time, or for how long from now (2h)' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l private -d 'For the agent alone'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l all-agents -d 'Take the entity as it is stored, whatever agent it belongs to'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l dry-run -d 'Say what would be done and do nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from store" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from show" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from show" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from show" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from show" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from show" -l all-agents -d 'A private fact too, whoever it belongs to'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from show" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from show" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from show" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from show" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from show" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l tenant -d 'Only facts of this tenant' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l entity -d 'Only facts about this entity' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l prefix -d 'Only facts whose entity begins with this' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l key -d 'Only facts with this key' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l sort -d 'The order' -r -f -a "stored\t'Last stored first, by the order of the journal'
entity\t'By tenant, entity, key and version'
id\t'By id'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l limit -d 'At most this many; no further are looked at, nor counted as hidden' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l all-agents -d 'Private facts too, whoever they belong to, under their stored entities'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l all -d 'Superseded facts too'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l deleted -d 'Superseded and deleted facts too'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l reverse -d 'The other way round'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l tenant -d 'Only facts of this tenant' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l entity -d 'Only facts about this entity' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l prefix -d 'Only facts whose entity begins with this' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l key -d 'Only facts with this key' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l as-of -d 'Facts as they held at this RFC 3339 time, or this long ago (2h)' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l limit -d 'At most this many' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l all-agents -d 'Private facts too, whoever they belong to, under their stored entities'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l all -d 'Superseded facts too'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l all-words -d 'Every word must be there'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from query" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from history" -l tenant -d 'The tenant, with an entity' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from history" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from history" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from history" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from history" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from history" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from history" -l all-agents -d 'Private facts too, whoever they belong to, under their stored entities'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from history" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from history" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from history" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from history" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from history" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from history" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from delete" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from delete" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from delete" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from delete" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from delete" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from delete" -l all-agents -d 'A private fact too, whoever it belongs to'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from delete" -l dry-run -d 'Say what would be done and do nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from delete" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from delete" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from delete" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from delete" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from delete" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -l by -d 'The fact that takes its place' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -l all-agents -d 'A private fact too, whoever it belongs to'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -l dry-run -d 'Say what would be done and do nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -l clear -d 'None takes its place any more'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from supersede" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -l from -d 'Since when it holds: an RFC 3339 time, how long ago (2h), or none' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -l to -d 'Until when it holds: an RFC 3339 time, for how long from now (2h), or none' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -l all-agents -d 'A private fact too, whoever it belongs to'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -l dry-run -d 'Say what would be done and do nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -l clear -d 'It holds at any time'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from validity" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from help" -f -a "store" -d 'Store a fact; print its id'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show one fact in full, as it is now'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from help" -f -a "list" -d 'List facts, the one stored last first'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from help" -f -a "query" -d 'Find facts by words, entity, key, tenant and time'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from help" -f -a "history" -d 'Every version of a fact, the oldest first, with what became of it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from help" -f -a "delete" -d 'Delete a fact'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from help" -f -a "supersede" -d 'Let another fact take a fact\'s place, or none any more'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from help" -f -a "validity" -d 'Say when a fact holds'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand fact; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -f -a "create" -d 'Mint an envelope of a session; print it on one line'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -f -a "verify" -d 'Verify an envelope; print the payload that it vouches for, byte for byte'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -f -a "accept" -d 'Accept an envelope: verify it, and load its session and facts; once'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -f -a "list" -d 'List the handoffs that were accepted here'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -f -a "abandon" -d 'Give up a handoff that is half accepted; what was loaded stays'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -f -a "inspect" -d 'Look into an envelope without a key; nothing of it is proven'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -f -a "keygen" -d 'Make a new secret, or a pair of ed25519 keys, in a file of its own'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -f -a "trust" -d 'Which agents\' signatures are trusted'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and not __fish_seen_subcommand_from create verify accept list abandon inspect keygen trust help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l target -d 'Only this agent may take it' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l message -d 'What the receiver is to know' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l task-record -d 'A JSON document with any of requester, desired_outcome, sources, acceptance_criteria, boundaries, blocker_rule' -r -F
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l work-id -d 'The id of work that goes along, beside what the state names; may be given more than once' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l ttl -d 'How long it may be taken, at most 90days' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l key-file -d 'The file with the secret [default: $CRUX_MCP_HANDOFF_SECRET]' -r -F
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l sign-key -d 'Sign with this private ed25519 key instead: only cruxctl verifies that' -r -F
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l include-facts -d 'Facts go along: those that the state names by their ids, and those about the session and its decisions'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l no-expiry -d 'It may be taken for ever'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l allow-missing -d 'Mint an envelope without a state where there is no such session'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l dry-run -d 'Say what would be minted, and mint nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l max-bytes -d 'The longest input that is read' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l key-file -d 'A file with the secret; given more than once, all are tried [default: $CRUX_MCP_HANDOFF_SECRET]' -r -F
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l trusted -d 'An agent and its public key; may be given more than once [default: as `handoff trust list` has them]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l require -d 'Take only this kind of envelope' -r -f -a "ed25519\t'Signed by an agent'
mac\t'With a MAC of a shared secret'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l max-age -d 'Take no envelope that was made longer ago than this, for example 2h' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l from-mcp -d 'Take the envelope out of the answer of an MCP tool'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l raw -d 'Exact bytes on a terminal too'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l max-bytes -d 'The longest input that is read' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l key-file -d 'A file with the secret; given more than once, all are tried [default: $CRUX_MCP_HANDOFF_SECRET]' -r -F
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l trusted -d 'An agent and its public key; may be given more than once [default: as `handoff trust list` has them]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l require -d 'Take only this kind of envelope' -r -f -a "ed25519\t'Signed by an agent'
mac\t'With a MAC of a shared secret'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l max-age -d 'Take no envelope that was made longer ago than this, for example 2h' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l max-state-bytes -d 'The largest state that is stored [default: $CRUXCTL_MAX_STATE_BYTES or 16777216]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l from-mcp -d 'Take the envelope out of the answer of an MCP tool'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l again -d 'Accept it although it was accepted before: the session is stored again, and so is each fact'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l if-absent -d 'Only if the receiver has no such session'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l dry-run -d 'Say what would be loaded, and load nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from accept" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from list" -l limit -d 'At most this many' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from list" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from list" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from list" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from list" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from list" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from list" -l open -d 'Only those that are half accepted'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from list" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from list" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from list" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from list" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from list" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from abandon" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from abandon" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from abandon" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from abandon" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from abandon" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from abandon" -l dry-run -d 'Say what would be done and do nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from abandon" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from abandon" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from abandon" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from abandon" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from abandon" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from abandon" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from inspect" -l max-bytes -d 'The longest input that is read' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from inspect" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from inspect" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from inspect" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from inspect" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from inspect" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from inspect" -l from-mcp -d 'Take the envelope out of the answer of an MCP tool'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from inspect" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from inspect" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from inspect" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from inspect" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from inspect" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from keygen" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from keygen" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from keygen" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from keygen" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from keygen" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from keygen" -l ed25519 -d 'A pair of keys to sign and to verify with'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from keygen" -l dry-run -d 'Say what would be done and do nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from keygen" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from keygen" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from keygen" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from keygen" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from keygen" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from keygen" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -f -a "add" -d 'Trust an agent\'s public key'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -f -a "list" -d 'List the trusted keys, by agent'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -f -a "remove" -d 'Trust a key no longer, or none of an agent\'s'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from trust" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from help" -f -a "create" -d 'Mint an envelope of a session; print it on one line'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Verify an envelope; print the payload that it vouches for, byte for byte'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from help" -f -a "accept" -d 'Accept an envelope: verify it, and load its session and facts; once'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the handoffs that were accepted here'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from help" -f -a "abandon" -d 'Give up a handoff that is half accepted; what was loaded stays'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from help" -f -a "inspect" -d 'Look into an envelope without a key; nothing of it is proven'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from help" -f -a "keygen" -d 'Make a new secret, or a pair of ed25519 keys, in a file of its own'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from help" -f -a "trust" -d 'Which agents\' signatures are trusted'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand handoff; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -f -a "check" -d 'Read everything, change no journal, name every finding'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -f -a "repair" -d 'Set aside what is damaged; show the plan unless --apply is given'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -f -a "show" -d 'Print lines as they are in the file'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -f -a "compact" -d 'Drop records that are no longer live; live records are kept byte for byte'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -f -a "export" -d 'Print the live records, one JSON document a line'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -f -a "stat" -d 'Count what is in a journal: bytes by kind, findings, growth, the ids that take the most'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -f -a "map" -d 'Draw a journal as a bar: which parts of the file are live, dead and damaged'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -f -a "report" -d 'Write a page of figures and pictures that a browser opens'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and not __fish_seen_subcommand_from check repair show compact export stat map report help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -l for-daemon -d 'Count what only the daemon loses or stumbles over as well'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -l full -d 'Read every byte again, also what the witness knows, and hold the index against it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -l accept -d 'Take the journals as they are as what the next check compares with'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -l dry-run -d 'Keep nothing for the next check: no witness, no index'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -l max-loss-bytes -d 'Refuse if more than this many bytes of one journal would be set aside, line ends included; then nothing is changed in any. For unattended use' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -l take -d 'Take what check shows as possible records on this line as records; needs exactly one JOURNAL, and may be given more than once' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -l apply -d 'Carry the plan out'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -l for-daemon -d 'Set aside what only the daemon cannot read as well'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -l dry-run -d 'Show the plan and change nothing, even with --apply'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from repair" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from show" -l line -d 'The line with this number, from 1' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from show" -l offset -d 'The line on which this byte lies, from 0' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from show" -l id -d 'Every line with a record about this id, as it is stored' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from show" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from show" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from show" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from show" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from show" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from show" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from show" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from show" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from show" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from compact" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from compact" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from compact" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from compact" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from compact" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from compact" -l dry-run -d 'Say what would be dropped and drop nothing'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from compact" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from compact" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from compact" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from compact" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from compact" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from compact" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from export" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from export" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from export" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from export" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from export" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from export" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from export" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from export" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from export" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from export" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from stat" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from stat" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from stat" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from stat" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from stat" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from stat" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from stat" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from stat" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from stat" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from stat" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from stat" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from map" -l cells -d 'In how many cells each is cut' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from map" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from map" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from map" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from map" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from map" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from map" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from map" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from map" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from map" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from map" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from map" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from report" -l html -d 'The page\'s file; - is standard output' -r -F
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from report" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from report" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from report" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from report" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from report" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from report" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from report" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from report" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from report" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from report" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from help" -f -a "check" -d 'Read everything, change no journal, name every finding'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from help" -f -a "repair" -d 'Set aside what is damaged; show the plan unless --apply is given'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print lines as they are in the file'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from help" -f -a "compact" -d 'Drop records that are no longer live; live records are kept byte for byte'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from help" -f -a "export" -d 'Print the live records, one JSON document a line'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from help" -f -a "stat" -d 'Count what is in a journal: bytes by kind, findings, growth, the ids that take the most'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from help" -f -a "map" -d 'Draw a journal as a bar: which parts of the file are live, dead and damaged'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from help" -f -a "report" -d 'Write a page of figures and pictures that a browser opens'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand journal; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand completions" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand completions" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand completions" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand completions" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand completions" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand completions" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand completions" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand completions" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand completions" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand completions" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand man" -l data-dir -d 'The data directory [default: $CRUXCTL_DATA_DIR, $CORECRUXD_DATA_DIR, or crux in the XDG data home]' -r -f -a "(__fish_complete_directories)"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand man" -l agent -d 'Act as this agent: see its ids and no others [default: $CRUXCTL_AGENT]' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand man" -l format -d 'How the answer is written [default: table on a terminal, plain in a pipe]' -r -f -a "table\t'Aligned columns for the eye (on a terminal)'
plain\t'Tab-separated, full ids, exact times (in a pipe)'
json\t'One JSON object'
jsonl\t'One JSON object a line'
id\t'Ids only'"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand man" -l color -d 'Colours: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c cruxctl -n "__fish_cruxctl_using_subcommand man" -l lock-timeout -d 'How long to wait for another writer' -r
complete -c cruxctl -n "__fish_cruxctl_using_subcommand man" -l json -d 'Short for --format json'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand man" -s 0 -l null -d 'With --format id: end each id with a NUL byte instead of a line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand man" -s q -l quiet -d 'No notes and warnings; errors are still told'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand man" -l no-sync -d 'Do not wait until a write is on disk; a power failure may then lose it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand man" -l damaged-ok -d 'Damage in a journal is still told, but does not change the exit status'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and not __fish_seen_subcommand_from session case fact handoff journal completions man help" -f -a "session" -d 'What agents are doing: opaque JSON states by id'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and not __fish_seen_subcommand_from session case fact handoff journal completions man help" -f -a "case" -d 'How it turned out: record it, find precedents'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and not __fish_seen_subcommand_from session case fact handoff journal completions man help" -f -a "fact" -d 'What is known: store it, find it, say when it holds'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and not __fish_seen_subcommand_from session case fact handoff journal completions man help" -f -a "handoff" -d 'What one agent hands over to another: mint, verify, accept'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and not __fish_seen_subcommand_from session case fact handoff journal completions man help" -f -a "journal" -d 'The journals themselves: check, repair, show, picture, compact, export'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and not __fish_seen_subcommand_from session case fact handoff journal completions man help" -f -a "completions" -d 'Print a shell\'s completion script'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and not __fish_seen_subcommand_from session case fact handoff journal completions man help" -f -a "man" -d 'Write the manual pages to a folder'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and not __fish_seen_subcommand_from session case fact handoff journal completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from session" -f -a "put" -d 'Store a state under an id'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from session" -f -a "get" -d 'Print a session\'s state: its bytes and one line end'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from session" -f -a "show" -d 'Show a session\'s document: scope, sizes, times, hash, place in the journal'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from session" -f -a "list" -d 'List sessions, the one written last first'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from session" -f -a "delete" -d 'Delete a session; this cannot be taken back'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from session" -f -a "archive" -d 'Hide a session from lists; it is kept in full'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from session" -f -a "unarchive" -d 'Show an archived session in lists again'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from session" -f -a "reap" -d 'Delete the sessions that have expired'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from case" -f -a "record" -d 'Record what was done and how it turned out; print the new id'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from case" -f -a "import" -d 'Record many cases at once, one JSON object a line'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from case" -f -a "retrieve" -d 'Find the cases that are most like a task'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from case" -f -a "show" -d 'Show one case in full'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from case" -f -a "list" -d 'List cases, the one recorded last first'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from case" -f -a "reuse" -d 'Say that cases were used again; each time counts one'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from case" -f -a "delete" -d 'Delete a case; this cannot be taken back'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from fact" -f -a "store" -d 'Store a fact; print its id'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from fact" -f -a "show" -d 'Show one fact in full, as it is now'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from fact" -f -a "list" -d 'List facts, the one stored last first'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from fact" -f -a "query" -d 'Find facts by words, entity, key, tenant and time'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from fact" -f -a "history" -d 'Every version of a fact, the oldest first, with what became of it'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from fact" -f -a "delete" -d 'Delete a fact'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from fact" -f -a "supersede" -d 'Let another fact take a fact\'s place, or none any more'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from fact" -f -a "validity" -d 'Say when a fact holds'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from handoff" -f -a "create" -d 'Mint an envelope of a session; print it on one line'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from handoff" -f -a "verify" -d 'Verify an envelope; print the payload that it vouches for, byte for byte'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from handoff" -f -a "accept" -d 'Accept an envelope: verify it, and load its session and facts; once'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from handoff" -f -a "list" -d 'List the handoffs that were accepted here'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from handoff" -f -a "abandon" -d 'Give up a handoff that is half accepted; what was loaded stays'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from handoff" -f -a "inspect" -d 'Look into an envelope without a key; nothing of it is proven'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from handoff" -f -a "keygen" -d 'Make a new secret, or a pair of ed25519 keys, in a file of its own'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from handoff" -f -a "trust" -d 'Which agents\' signatures are trusted'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from journal" -f -a "check" -d 'Read everything, change no journal, name every finding'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from journal" -f -a "repair" -d 'Set aside what is damaged; show the plan unless --apply is given'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from journal" -f -a "show" -d 'Print lines as they are in the file'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from journal" -f -a "compact" -d 'Drop records that are no longer live; live records are kept byte for byte'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from journal" -f -a "export" -d 'Print the live records, one JSON document a line'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from journal" -f -a "stat" -d 'Count what is in a journal: bytes by kind, findings, growth, the ids that take the most'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from journal" -f -a "map" -d 'Draw a journal as a bar: which parts of the file are live, dead and damaged'
complete -c cruxctl -n "__fish_cruxctl_using_subcommand help; and __fish_seen_subcommand_from journal" -f -a "report" -d 'Write a page of figures and pictures that a browser opens'
