# The binary interface that the header describes against the one that ABI keeps. The types are those of C: a library of
# empty functions with the header's declarations stands for the real one, whose symbols symbols_test.cmake looks at.
# UPDATE: writes ABI anew (the target update_abi).
cmake_policy(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/declared.cmake)
if(NOT ABIDIFF OR NOT ABIDW OR NOT PROCESSOR MATCHES "^(x86_64|AMD64)$")
  message("skipped: no abidiff and abidw here (Debian: abigail-tools), or another processor than x86-64")
  return()
endif()
declared_functions(${INCLUDE}/halocline.h functions)
set(text "#include <halocline.h>\n")
foreach(function ${functions})
  if(function MATCHES "^void ")
    string(APPEND text "${function} {}\n")
  else()
    string(APPEND text "${function} { return 0; }\n")
  endif()
endforeach()
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
file(WRITE ${WORK}/halocline.c "${text}")
# Names without folders, so that nothing depends on where it is built.
configure_file(${INCLUDE}/halocline.h ${WORK}/halocline.h COPYONLY)
execute_process(COMMAND ${COMPILER} -std=c99 -shared -fPIC -g -O0 -I. -Wl,-soname,libhalocline.so.0 halocline.c
                        -o libhalocline.so WORKING_DIRECTORY ${WORK} COMMAND_ERROR_IS_FATAL ANY)
if(UPDATE)
  execute_process(COMMAND ${ABIDW} --no-corpus-path --no-comp-dir-path --no-show-locs --out-file ${ABI} libhalocline.so
                  WORKING_DIRECTORY ${WORK} COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()
execute_process(COMMAND ${ABIDIFF} ${ABI} libhalocline.so WORKING_DIRECTORY ${WORK} RESULT_VARIABLE code
                OUTPUT_VARIABLE told ERROR_VARIABLE told)
message("${told}")
math(EXPR failed "${code} & 3")
math(EXPR incompatible "${code} & 8")
# abidiff calls these compatible in general. Here only structs with struct_size may grow, and only at their ends.
foreach(change "offset changed" "data member deletion" "type of '[^\n]*' changed" "type name changed" "return type changed"
               "parameter [0-9]+ of type '[^\n]*' changed" "parameter [0-9]+ of type '[^\n]*' was (added|removed)"
               "'struct halocline_grid' changed")
  if(told MATCHES "${change}")
    set(incompatible 1)
  endif()
endforeach()
# Nor may a member take the place of padding: older programs have anything there.
string(REGEX MATCHALL "data member insertion" insertions "${told}")
string(REGEX MATCHALL "type size changed" larger "${told}")
list(LENGTH insertions insertions)
list(LENGTH larger larger)
if(insertions GREATER larger)
  set(incompatible 1)
endif()
if(failed)
  message(FATAL_ERROR "abidiff could not compare (${code})")
elseif(incompatible)
  message(FATAL_ERROR "the binary interface has changed incompatibly: programs built before no longer run")
endif()
