# Runs every PARTS-th case of oclgrind_kernels, from PART on, under Oclgrind; anything in its log is an error.
if(NOT OCLGRIND)
  message("skipped: no oclgrind (Debian package oclgrind)")
  return()
endif()
set(ENV{HALOCLINE_DEVICE} "oclgrind")
# Not --uninitialized: Oclgrind 21.10 takes what was written at an offset for unwritten. The other tests run on memory full of NaN
# instead (HALOCLINE_POISON_MEMORY).
# After each kernel Oclgrind makes a new record for every byte of every buffer there is: 16 MiB of page-locked memory took
# it half a second, a hundred times as long as a kernel.
set(ENV{HALOCLINE_STAGE_TRANSFERS} 0)
# A cache of its own, which begins empty: Oclgrind must see today's sources.
set(ENV{HALOCLINE_CACHE_DIR} "${LOG}.cache")
file(REMOVE_RECURSE "${LOG}.cache")
execute_process(COMMAND "${PROGRAM}" OUTPUT_VARIABLE cases COMMAND_ERROR_IS_FATAL ANY)
math(EXPR last "${cases} - 1")
# Past a thousand findings Oclgrind is silent by default, and clFFT has more (see below) before kernels of ours run.
set(limit 1000000000)
set(ended 0)
foreach(case RANGE ${PART} ${last} ${PARTS})
  # Oclgrind has no locks. Two threads that use one device end it seldom (1 of 85 runs on a busy machine): with an exception of
  # its own maps, which nothing of ours has, or a segmentation fault. Such a case runs again; a fault of ours ends all three runs, or
  # shows in more than two cases of a part.
  foreach(attempt RANGE 1 3)
    file(REMOVE "${LOG}")
    execute_process(COMMAND "${OCLGRIND}" --data-races --max-errors ${limit} --log "${LOG}" "${PROGRAM}" ${case}
                    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(result EQUAL 0 OR NOT "${result} ${output}" MATCHES "unordered_map::at|Segmentation fault")
      break()
    endif()
    message("case ${case}: Oclgrind ended itself, run ${attempt}")
    math(EXPR ended "${ended} + 1")
    if(ended GREATER 2)
      message(FATAL_ERROR "Oclgrind ended itself ${ended} times in part ${PART}: seldom by itself, so look for the fault\n${output}")
    endif()
  endforeach()
  set(log "")
  if(EXISTS "${LOG}")
    file(READ "${LOG}" log)
    # clFFT's own kernels (fft_fwd, fft_back) count on work-items that run in step; they are not ours to mend.
    string(REGEX MATCHALL "Kernel: [A-Za-z0-9_]+" kernels "${log}")
    list(LENGTH kernels found)
    list(FILTER kernels EXCLUDE REGEX "Kernel: fft_")
    if(found GREATER 0 AND NOT kernels)
      set(log "")
    elseif(kernels)  # megabytes of clFFT's may come before it
      list(GET kernels 0 first)
      string(FIND "${log}" "${first}" at)
      string(SUBSTRING "${log}" ${at} 10000 log)
    endif()
  endif()
  if(NOT result EQUAL 0 OR NOT output MATCHES "ran on Oclgrind" OR NOT log STREQUAL "")
    message(FATAL_ERROR "case ${case} ended with ${result}\n${output}\nOclgrind found:\n${log}")
  endif()
endforeach()
file(REMOVE_RECURSE "${LOG}.cache")
message("${cases} cases in ${PARTS} parts: nothing found in part ${PART}")
