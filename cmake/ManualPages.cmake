# Writes what the command says of itself below OUT, as it lies below share/ when it is installed: a manual
# page for every command, and completion for bash and zsh. Called with -DEGRAPH= and -DOUT=.
function(write path)
  execute_process(COMMAND ${EGRAPH} help ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE "${OUT}/${path}" "${text}")
endfunction()

execute_process(COMMAND ${EGRAPH} help OUTPUT_VARIABLE usage COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n  [a-z]+( [a-z]+)?  " names "${usage}")
write(man/man1/egraph.1 --man)
foreach(name IN LISTS names)
  string(STRIP "${name}" name)
  string(REPLACE " " "-" page "${name}")
  string(REPLACE " " ";" words "${name}")
  write(man/man1/egraph-${page}.1 --man ${words})
endforeach()
write(bash-completion/completions/egraph --completion bash)
write(zsh/site-functions/_egraph --completion zsh)
