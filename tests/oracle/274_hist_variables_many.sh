# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# More than sixteen variables.
E=events/initcall/initcall_finish/trigger
for command in \
  'keys=ret:a=0,b=1,c=2,d=3,e=4,f=5,g=6,h=7,i=8,j=9,k=10,l=11,m=12,n=13,o=14,p=15' \
  'keys=ret:a=0,b=1,c=2,d=3,e=4,f=5,g=6,h=7,i=8,j=9,k=10,l=11,m=12,n=13,o=14,p=15,q=16' \
  'keys=ret:a=0,b=1,c=2,d=3,e=4,f=5,g=6,h=7,i=8,j=9,k=10,l=11,m=12,n=13,o=14,p=15:q=16' \
  'keys=ret:a=0:b=1:c=2:d=3:e=4:f=5:g=6:h=7:i=8:j=9:k=10:l=11:m=12:n=13:o=14:p=15' \
  'keys=ret:a=0:b=1:c=2:d=3:e=4:f=5:g=6:h=7:i=8:j=9:k=10:l=11:m=12:n=13:o=14:p=15:q=16' \
  'keys=ret:a=0,b=1,c=2,d=3,e=4,f=5,g=6,h=7,i=8,j=9,k=10,l=11,m=12,n=13,o=14,p=15:onmax($a).save(ret)' \
  'keys=ret:a=0,b=1,c=2,d=3,e=4,f=5,g=6,h=7,i=8,j=9,k=10,l=11,m=12,n=13,o=14:onmax($a).save(ret)' \
  'keys=ret:a=0,b=1,c=2,d=3,e=4,f=5,g=6,h=7,i=8,j=9,k=10,l=11,m=12,n=13:onmax($a).save(ret)'; do
  hist_try "$E" "$command"
done
hist_clean "$E"
