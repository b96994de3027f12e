console.log("nothing yet")
