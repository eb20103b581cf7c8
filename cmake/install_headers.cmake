# Installs the headers of HALOCLINE_FOLDERS as halocline/<folder>/..., with their own includes spelled so, too: a program's
# include path then needs nothing that could be taken for another library's "host/" or "cl/".
foreach(folder ${HALOCLINE_FOLDERS})
  string(REGEX REPLACE "^apps/" "" name ${folder})
  file(GLOB_RECURSE headers RELATIVE ${HALOCLINE_SOURCE}/${folder} ${HALOCLINE_SOURCE}/${folder}/*.hpp
       ${HALOCLINE_SOURCE}/${folder}/*.h ${HALOCLINE_SOURCE}/${folder}/*.clh)
  foreach(header ${headers})
    if(header MATCHES "^(itk|tiff)_")
      continue()  # behind halocline::images
    endif()
    file(READ ${HALOCLINE_SOURCE}/${folder}/${header} text)
    string(REGEX REPLACE "#include \"(apps/)?(cl|host|scheduling|algorithms|itk|images|report)/" "#include \"halocline/\\2/" text "${text}")
    set(file ${HALOCLINE_INCLUDE}/halocline/${name}/${header})
    file(WRITE $ENV{DESTDIR}${file} "${text}")
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${file})
  endforeach()
endforeach()
