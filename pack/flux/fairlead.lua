-- In lua.d of Flux's job shells (/etc/flux/shell/lua.d): see fairlead-flux(7).
plugin.load {
    file = "@PLUGINS@/fairlead-shell.so",
    conf = { default = "must" }
}
